"""The C interface: a program in C99 that calls each function of it, and Python's ctypes."""

import ctypes
import os
import pathlib
import re
import select
import subprocess
import threading
import unittest

from cluster import Cluster

HERE = pathlib.Path(__file__).parent
INCLUDE = HERE.parents[2] / "include"
LIBRARY = pathlib.Path(os.environ["HOPLITE_LIBRARY"])
SOON = 20_000  # milliseconds


class CProgram(unittest.TestCase):

    def test_it_calls_every_function(self):
        declared = set(re.findall(r"\b(hoplite_\w+)\(", (INCLUDE / "hoplite/c.h").read_text()))
        called = set(re.findall(r"\b(hoplite_\w+)\(", (HERE / "program.c").read_text()))
        self.assertGreater(len(declared), 50)
        self.assertEqual(declared - called, set())

    def test_it_does_what_the_header_says(self):
        with Cluster(2) as cluster:
            program = cluster.path("program")
            subprocess.run(["gcc-12", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}",
                            HERE / "program.c", "-o", program, LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}"], check=True)
            ran = subprocess.run([program, cluster.socket(1), cluster.socket(2), cluster.directory.ready["address"]],
                                 capture_output=True, text=True,
                                 timeout=100, check=False)
            self.assertEqual((ran.returncode, ran.stdout), (0, "all is well\n"), ran.stderr)


class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint8 * 20)]


class FromCtypes(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.c = ctypes.CDLL(str(LIBRARY))
        cls.c.hoplite_last_error.restype = ctypes.c_char_p
        cls.c.hoplite_error_name.restype = ctypes.c_char_p
        cls.c.hoplite_id_from_name.restype = Id
        cls.c.hoplite_buffer_data.restype = ctypes.c_void_p
        cls.c.hoplite_buffer_size.restype = ctypes.c_size_t

    def call(self, function, *arguments):
        code = getattr(self.c, f"hoplite_{function}")(*arguments)
        self.assertEqual(code, 0, self.c.hoplite_last_error())

    def connect(self, socket):
        client = ctypes.c_void_p()
        self.call("connect", socket.encode(), ctypes.c_int64(SOON), ctypes.byref(client))
        self.addCleanup(self.c.hoplite_client_free, client)
        return client

    def test_an_object_goes_from_node_to_node(self):
        with Cluster(2) as cluster:
            a, b = self.connect(cluster.socket(1)), self.connect(cluster.socket(2))
            name, data = self.c.hoplite_id_from_name(b"x"), os.urandom(100_000)
            request, completions, tag, buffer = (ctypes.c_void_p() for _ in range(4))
            self.call("get_async", b, ctypes.byref(name), 0, ctypes.c_int64(SOON), ctypes.byref(request))
            self.call("completions_new", ctypes.byref(completions))
            self.call("completions_add", completions, request, ctypes.c_void_p(7))
            called = []
            was_called = threading.Event()

            @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
            def callback(argument):
                called.append(argument)
                was_called.set()

            self.call("request_on_ready", request, callback, ctypes.c_void_p(8))
            self.call("put", a, ctypes.byref(name), data, ctypes.c_size_t(len(data)), None, ctypes.c_size_t(0), 0,
                      ctypes.c_int64(SOON))
            descriptor = self.c.hoplite_completions_descriptor(completions)
            self.assertEqual(select.select([descriptor], [], [], SOON / 1000)[0], [descriptor])
            self.assertEqual(self.c.hoplite_completions_next(completions, ctypes.byref(tag)), 1)
            self.assertEqual(tag.value, 7)
            self.call("request_buffer", request, ctypes.byref(buffer))
            got = ctypes.string_at(self.c.hoplite_buffer_data(buffer), self.c.hoplite_buffer_size(buffer))
            self.assertEqual(got, data)
            self.c.hoplite_buffer_free(buffer)
            self.assertTrue(was_called.wait(SOON / 1000))
            self.c.hoplite_completions_free(completions)
            self.c.hoplite_request_free(request)
            self.assertEqual(called, [8])

    def test_errors_have_a_code_and_a_sentence(self):
        client = ctypes.c_void_p()
        code = self.c.hoplite_connect(b"/nowhere/h.sock", ctypes.c_int64(0), ctypes.byref(client))
        self.assertEqual(self.c.hoplite_error_name(code), b"unavailable")
        self.assertIn(b"/nowhere/h.sock", self.c.hoplite_last_error())
        self.assertEqual(self.c.hoplite_connect(None, ctypes.c_int64(0), ctypes.byref(client)), 1)
        self.assertEqual(self.c.hoplite_last_error(), b"socket is NULL")


if __name__ == "__main__":
    unittest.main()
