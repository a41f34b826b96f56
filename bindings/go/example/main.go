// Puts an array through one node and gets it, and a sum, through another.
// usage: example SOCKET SOCKET
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"hoplite"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func floats(value float32) []byte {
	var out bytes.Buffer
	for i := 0; i < 100000; i++ {
		binary.Write(&out, binary.LittleEndian, value)
	}
	return out.Bytes()
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	a, b := must(hoplite.Connect(ctx, os.Args[1])), must(hoplite.Connect(ctx, os.Args[2]))
	options := hoplite.PutOptions{Metadata: []byte("about"), DType: "float32"}
	one := must(a.Put(ctx, floats(1), options))
	two := must(b.Put(ctx, floats(2), options))
	got := must(b.Get(ctx, one))
	if !bytes.Equal(got.Bytes(), floats(1)) || string(got.Metadata()) != "about" {
		log.Fatal("another object came")
	}
	got.Free()
	into := make([]byte, len(floats(0)))
	sum := must(a.Reduce(ctx, "sum", false, one, two))
	if must(b.GetInto(ctx, sum, into)) != len(into) || !bytes.Equal(into, floats(3)) {
		log.Fatal("the sum is wrong")
	}
	if err := a.Delete(ctx, one, two, sum); err != nil {
		log.Fatal(err)
	}
	if _, err := a.Get(ctx, one); !hoplite.IsCode(err, "deleted") {
		log.Fatal("it was deleted, but: ", err)
	}
	soon, stop := context.WithCancel(ctx)
	time.AfterFunc(50*time.Millisecond, stop)
	if _, err := a.Get(soon, hoplite.RandomID()); !errors.Is(err, context.Canceled) {
		log.Fatal("it was cancelled, but: ", err)
	}
	if must(a.Why(ctx, hoplite.IDFromName("missing"))) == "" {
		log.Fatal("nobody knows why")
	}
	a.Close()
	fmt.Println("all is well")
}
