"""`hoplite directory --web`: the page, its pictures and what it answers, by HTTP as a browser speaks it."""

import contextlib
import html
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time
import unittest

from cluster import HOPLITE, PATIENCE, Cluster, ClusterTest, run, wait_until
from secure_cluster import CertifiedCluster

LARGE = 6_000_000
MOST_CONNECTIONS = 16
MARKUP = "<img src=x onerror=alert(1)>"  # the name of a node


class WebCluster(Cluster):
    def _start_directory(self, address):
        return self.start("directory", "--listen", address, "--recovery-window", "0", "--web", "0")

    @property
    def page(self):
        host, port = self.directory.ready["web"].rsplit(":", 1)
        return host, int(port)

    def connect(self):
        return self.enter_context(contextlib.closing(socket.create_connection(self.page, PATIENCE)))

    def answer(self, request):
        """Everything that is answered to these bytes, until the connection ends."""
        connection = self.connect()
        connection.sendall(request)
        parts = []
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(65536):
                parts.append(part)
        return b"".join(parts).decode()

    def get(self, path):
        """(status line, head, body)"""
        head, _, body = self.answer(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()).partition("\r\n\r\n")
        return head.split("\r\n")[0], head, body

    def events(self):
        """(the lines of a picture's body, those of its head)"""
        connection = self.connect()
        connection.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        lines = connection.makefile("r", encoding="utf-8")
        return lines, list(iter(lines.readline, "\n"))

    def pictures(self):
        """What a browser is told, one picture after the other."""
        lines, head = self.events()
        assert "Content-Type: text/event-stream\n" in head, head
        for line in lines:
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


def with_picture(page, picture, why):
    """The page as it is when this picture came and its first object was clicked. A browser that prints a page does not
    wait for events."""
    def literal(value):
        return json.dumps(value).replace("<", "\\u003c")
    stub = f"""<script>
      window.fetch = async () => ({{json: async () => ({literal(why)})}});
      window.EventSource = class {{
        constructor() {{
          setTimeout(() => {{
            this.onmessage({{data: JSON.stringify({literal(picture)})}});
            document.querySelector(".object button").click();
            document.body.dataset.back = getComputedStyle(document.body).backgroundColor;
          }}, 10);
        }}
      }};
    </script>"""
    return page.replace("<script>", stub + "<script>", 1)


def pictures_of(connection):
    """What a browser is told over it, one picture after the other."""
    for line in connection.makefile("r", encoding="utf-8"):
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


class Kept(ClusterTest):
    """A page that strangers reach, and don't see."""

    TOKEN = "0123456789abcdef"

    def token(self, cluster, text, mode=0o600):
        with open(cluster.path("token"), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(cluster.path("token"), mode)
        return cluster.path("token")

    def answer(self, address, path, **fields):
        """(status, head, body)"""
        host, port = address.rsplit(":", 1)
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.request("GET", path, headers=fields)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read() if answer.status != 200 or path != "/events" else b""

    def test_a_token(self):
        cluster = self.cluster(1)
        page = cluster.start("directory", "--listen", "127.0.0.1:0", "--web", "0.0.0.0:0", "--web-token",
                             self.token(cluster, self.TOKEN + "\n")).ready["web"]
        absent = f"/object?id={'0' * 39}1"
        for path in ("/", "/events", absent, "/nowhere", "/?token=0123456789abcdeF", "/?token=", "/?tokenx=" + self.TOKEN):
            for fields in ({}, {"Cookie": "hoplite_page_1=" + self.TOKEN}, {"Authorization": "Bearer " + self.TOKEN[1:]}):
                status, head, body = self.answer(page, path, **fields)
                self.assertEqual((status, head["WWW-Authenticate"]), (401, "Bearer"), (path, fields))
                self.assertIn(b"asks for its token", body)
        status, head, _ = self.answer(page, f"/?token={self.TOKEN}", Host="head.example")
        self.assertEqual((status, head["Location"]), (303, "/"))
        cookie, *attributes = head["Set-Cookie"].split("; ")
        self.assertEqual(attributes, ["Path=/", "HttpOnly", "SameSite=Strict"])
        for fields in ({"Cookie": f"other=1; {cookie}"}, {"Authorization": "Bearer " + self.TOKEN}):
            for path in ("/", "/events", absent):
                self.assertEqual(self.answer(page, path, Host="head.example", **fields)[0], 200, (path, fields))

    def test_a_token_that_is_none(self):
        cluster = self.cluster(0)

        def refused(*arguments):
            return self.refuse("invalid_argument", "directory", "--listen", "127.0.0.1:0", *arguments)
        for text in ("", "0123456789abcde", "0123456789 abcdef", "x" * 257):
            self.assertIn("letters, digits", refused("--web", "0", "--web-token", self.token(cluster, text)))
        path = self.token(cluster, self.TOKEN, mode=0o644)
        self.assertIn(path, refused("--web", "0", "--web-token", path))
        self.assertIn("or --web-token", refused("--web", "0.0.0.0:0"))
        done = run("directory", "--listen", "127.0.0.1:0", "--web-token", path)
        self.assertEqual((done.returncode, "--web" in done.stderr), (2, True))

    def test_certificates(self):
        cluster = CertifiedCluster(1)
        self.addCleanup(cluster.close)
        directory = cluster.directory.ready["address"]
        pages = [cluster.start("directory", "--listen", "127.0.0.1:0", "--web", "0.0.0.0:0").ready["web"],
                 cluster.start("top", "--directory", directory, "--web", "0.0.0.0:0").ready["address"]]
        for page in pages:
            address = ("127.0.0.1", int(page.rsplit(":", 1)[1]))
            for certified, ends in ((True, "200 OK"), (False, None)):
                context = ssl.create_default_context(cafile=f"{cluster.tls}/ca.pem")
                context.check_hostname = False
                if certified:
                    context.load_cert_chain(f"{cluster.tls}/node.pem", f"{cluster.tls}/node.key")
                with socket.create_connection(address, PATIENCE) as plain:
                    try:
                        with context.wrap_socket(plain) as connection:
                            connection.sendall(b"GET / HTTP/1.1\r\nHost: head.example\r\n\r\n")
                            line = connection.makefile("rb").readline().decode()
                    except OSError:
                        line = ""
                self.assertEqual(line.strip(), f"HTTP/1.1 {ends}" if ends else "", page)


class AllShards(ClusterTest):
    """One page for the objects of all shards."""

    def shards(self, cluster):
        """Two that know each other; (their addresses, the page of the first)."""
        with contextlib.ExitStack() as taken:
            ports = [taken.enter_context(contextlib.closing(socket.create_server(("127.0.0.1", 0)))) for _ in range(2)]
            addresses = [f"127.0.0.1:{port.getsockname()[1]}" for port in ports]
        shards = [cluster.start("directory", "--listen", address, "--shards", ",".join(addresses), "--recovery-window", "0",
                                "--web", "0") for address in addresses]
        return ",".join(addresses), shards[0].ready["web"]

    def test_objects_of_both_shards(self):
        cluster = self.cluster(0)
        shards, page = self.shards(cluster)
        sock = cluster.path("n1.sock")
        cluster.start("node", "--directory", shards, "--listen", "127.0.0.1:0", "--memory", "8MiB", "--name", "n1",
                      "--socket", sock)
        names = [f"x{i}" for i in range(16)]  # all of them in one shard: once in 32768
        for name in names:
            getter = subprocess.Popen([HOPLITE, "get", f"name:{name}", "--socket", sock], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            self.addCleanup(getter.wait)
            self.addCleanup(getter.kill)
        top = cluster.start("top", "--directory", shards, "--web", "0").ready["address"]
        for address in (page, top):
            host, port = address.rsplit(":", 1)
            with contextlib.closing(socket.create_connection((host, int(port)), PATIENCE)) as connection:
                connection.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                for picture in pictures_of(connection):
                    if len(picture["objects"]) == len(names):
                        break
            self.assertEqual(picture["remarks"], [])
            for one in picture["objects"]:
                asked = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
                asked.request("GET", f"/object?id={one['id']}")
                waiter, = json.loads(asked.getresponse().read())["waiters"]
                self.assertEqual(waiter["node"], "n1")
                asked.close()


class Web(ClusterTest):
    Cluster = WebCluster

    def see(self, cluster, condition, what):
        """The first picture that is so."""
        deadline = time.monotonic() + PATIENCE
        for picture in cluster.pictures():
            if condition(picture):
                return picture
            self.assertLess(time.monotonic(), deadline, f"{what}: {picture}")
        raise AssertionError(f"no more pictures before: {what}")

    def test_the_page(self):
        cluster = self.cluster(0)
        self.assertEqual(cluster.page[0], "127.0.0.1")
        status, head, body = cluster.get("/")
        self.assertEqual(status, "HTTP/1.1 200 OK")
        self.assertIn("Content-Security-Policy: default-src 'none'; connect-src 'self'; ", head)
        self.assertTrue(body.startswith("<!doctype html>"))
        self.assertTrue(body.endswith("</html>\n"))
        self.assertIn("prefers-color-scheme: dark", body)
        # What other machines say becomes text, never markup, and nothing is loaded from elsewhere.
        for markup in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "http://", "https://", "src="):
            self.assertNotIn(markup, body)

    def test_a_transfer(self):
        cluster = self.cluster(2, rate="2mbit")
        self.put(cluster, 1, LARGE, "x")
        self.begin_get(cluster, 2, "x")
        picture = self.see(cluster, lambda picture: picture["objects"] and picture["objects"][0]["transfers"]
                           and any(node["in_bytes_per_second"] for node in picture["nodes"]), "the transfer")
        self.assertEqual([node["name"] for node in picture["nodes"]], ["n1", "n2"])
        self.assertEqual((picture["under_way"], picture["object_count"]), (1, 1))
        transfer = picture["objects"][0]["transfers"][0]
        self.assertEqual((transfer["from"], transfer["to"]), ("n1", "n2"))
        self.assertIn({"node": "n1", "complete": True, "watermark": LARGE}, picture["objects"][0]["holders"])

    def test_what_died(self):
        cluster = self.cluster(2)
        cluster.nodes[1].end(signal.SIGKILL)

        def lost(picture):
            return any(node["name"] == "n2" and node["trouble"].startswith("lost ") for node in picture["nodes"])
        self.see(cluster, lost, "the loss")
        self.see(cluster, lost, "whoever comes later sees it, too")

    def test_why(self):
        cluster = self.cluster(1)
        self.begin_get(cluster, 1, "nobody")
        picture = self.see(cluster, lambda picture: picture["objects"], "the wait")
        status, _, body = cluster.get(f"/object?id={picture['objects'][0]['id']}")
        self.assertEqual(status, "HTTP/1.1 200 OK")
        waiter, = json.loads(body)["waiters"]
        self.assertEqual(waiter["node"], "n1")
        self.assertIn("it does not exist", waiter["why"])
        _, _, body = cluster.get(f"/object?id={'0' * 39}1")
        self.assertEqual(json.loads(body)["error"]["code"], "not_found")

    def test_in_a_browser(self):
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        if not chromium:
            print("SKIPPED: no chromium (of Debian's package chromium) is installed, nor named by $CHROMIUM: nobody has "
                  "looked at the page")
            self.skipTest("no chromium")
        cluster = self.cluster(1)
        cluster.start(*cluster.node_command(MARKUP, cluster.path("other.sock")))
        self.begin_get(cluster, 1, "nobody")
        picture = self.see(cluster, lambda picture: picture["objects"] and len(picture["nodes"]) == 2, "both nodes")
        page = with_picture(cluster.get("/")[2], picture, json.loads(
            cluster.get(f"/object?id={picture['objects'][0]['id']}")[2]))
        with open(cluster.path("page.html"), "w", encoding="utf-8") as file:
            file.write(page)
        for scheme, back in ((0, "rgb(15, 19, 23)"), (1, "rgb(255, 255, 255)")):
            dom = subprocess.run(
                [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={cluster.path('browser')}",
                 f"--blink-settings=preferredColorScheme={scheme}", "--virtual-time-budget=500", "--dump-dom",
                 f"file://{cluster.path('page.html')}"], capture_output=True, timeout=60).stdout.decode()
            self.assertIn(f'data-back="{back}"', dom)
            self.assertIn(f"<td>{html.escape(MARKUP)}</td>", re.sub(r'<td [^>]*>', "<td>", dom))
            self.assertNotIn("<img", dom)
            self.assertRegex(dom, r'<div class="why"><p><b>n1</b>: it does not exist')

    def test_no_answer_is_taken_for_another_type(self):
        cluster = self.cluster(0)
        self.assertIn("X-Content-Type-Options: nosniff\n", cluster.events()[1])
        for path in ("/", f"/object?id={'0' * 39}1", "/object?id=zz", "/nowhere"):
            self.assertEqual(cluster.get(path)[1].count("X-Content-Type-Options: nosniff"), 1, path)

    def test_other_requests(self):
        cluster = self.cluster(0)
        self.assertEqual(cluster.get("/object?id=zz")[0], "HTTP/1.1 400 Bad Request")
        self.assertEqual(cluster.get("/../etc/passwd")[0], "HTTP/1.1 404 Not Found")
        self.assertTrue(cluster.answer(b"POST / HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 405 "))
        self.assertTrue(cluster.answer(b"\x16\x03\x01 TLS?\r\n\r\n").startswith("HTTP/1.1 400 "))
        self.assertTrue(cluster.answer(b"x" * 8192).startswith("HTTP/1.1 400 "))
        head = cluster.answer(b"HEAD / HTTP/1.1\r\n\r\n")
        self.assertTrue(head.startswith("HTTP/1.1 200 OK\r\n") and head.endswith("\r\n\r\n"), head)

    def test_only_its_own_names_are_answered(self):
        cluster = self.cluster(0)

        def answer(path, host):
            return cluster.answer(f"GET {path} HTTP/1.1\r\nHost:{host}\r\n\r\n".encode())
        port = cluster.page[1]
        for host in ("localhost", f" LOCALHOST:{port}", "page.localhost", "127.0.0.1", f"127.0.0.1:{port}", f"[::1]:{port}",
                     "10.1.2.3:80", ""):
            self.assertTrue(answer("/", host).startswith("HTTP/1.1 200 OK\r\n"), host)
        for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", "evillocalhost", "[]"):
            for path in ("/", "/events", f"/object?id={'0' * 39}1"):
                refused = answer(path, host)
                self.assertTrue(refused.startswith("HTTP/1.1 421 Misdirected Request\r\n"), (host, path, refused[:80]))
                self.assertIn(f"The page is not at '{host}': open http://127.0.0.1:{port}/,", refused)

    def test_the_name_that_it_listens_at_is_its_own(self):
        name = socket.gethostname()
        try:
            socket.getaddrinfo(name, 0)
        except OSError:
            print(f"SKIPPED: this host's name {name} has no address")
            self.skipTest("no name")
        cluster = self.cluster(0)
        shard = cluster.start("directory", "--listen", "127.0.0.1:0", "--insecure", "--web", f"{name}:0")
        address, port = shard.ready["web"].rsplit(":", 1)
        for host, status in ((name, 200), ("evil.example", 421)):
            connection = http.client.HTTPConnection(address.strip("[]"), int(port), timeout=PATIENCE)
            connection.request("GET", "/", headers={"Host": f"{host}:{port}"})
            self.assertEqual(connection.getresponse().status, status, host)
            connection.close()

    def test_many_connections(self):
        cluster = self.cluster(1)
        silent = [cluster.connect() for _ in range(3 * MOST_CONNECTIONS)]
        self.assertEqual(cluster.get("/")[0], "HTTP/1.1 200 OK")
        self.assertEqual(silent[0].recv(1), b"")  # the oldest had to go
        # Those who ask for pictures and read none hold nobody up either, and the shard goes on.
        for _ in range(3 * MOST_CONNECTIONS):
            cluster.connect().sendall(b"GET /events HTTP/1.1\r\n\r\n")
        self.see(cluster, lambda picture: picture["nodes"], "pictures")
        self.put(cluster, 1, LARGE, "x")

    def test_it_ends_while_somebody_looks(self):
        cluster = self.cluster(1)
        pictures = cluster.pictures()
        next(pictures)
        self.assertEqual(cluster.directory.end(), 0)
        self.assertEqual([None for _ in pictures], [])

    def test_a_port_in_use(self):
        cluster = self.cluster(0)
        web = cluster.directory.ready["web"]
        self.assertRegex(self.refuse("unavailable", "directory", "--listen", "127.0.0.1:0", "--web", web),
                         f"--web: .*{web}")
        done = subprocess.run([HOPLITE, "directory", "--listen", "127.0.0.1:0", "--web", "x"], capture_output=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
