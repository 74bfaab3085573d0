// Go's runtime makes system calls itself. Goroutines write and read files of their own and one that they share, while
// another waits for a pipe; then the program starts itself.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

const workers, rounds = 8, 40

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func create(name string) *os.File {
	file, err := os.Create(name)
	check(err)
	return file
}

func content(name string) []byte {
	all, err := os.ReadFile(name)
	check(err)
	return all
}

func work(number int, shared *os.File) {
	name := fmt.Sprintf("own.%d", number)
	own := create(name)
	piece := bytes.Repeat([]byte{byte('a' + number)}, 100+number)
	for round := 0; round < rounds; round++ {
		at := int64(round*workers+number) * 100
		_, err := own.Write(piece)
		check(err)
		_, err = shared.WriteAt(piece[:100], at)
		check(err)
		_, err = shared.ReadAt(make([]byte, 64), at)
		check(err)
	}
	check(own.Close())
	if len(content(name)) != rounds*len(piece) {
		panic(name)
	}
}

func main() {
	if len(os.Args) > 1 {
		fmt.Print(len(content(os.Args[1])))
		return
	}
	shared := create("shared")
	from, to, err := os.Pipe()
	check(err)
	var group sync.WaitGroup
	for number := 0; number < workers; number++ {
		group.Add(1)
		go func(number int) {
			defer group.Done()
			work(number, shared)
		}(number)
	}
	received := make(chan int)
	go func() {
		all, err := io.ReadAll(from)
		check(err)
		received <- len(all)
	}()
	group.Wait()
	_, err = to.Write(make([]byte, 5000))
	check(err)
	check(to.Close())
	source, err := os.Open("own.0")
	check(err)
	copied, err := io.Copy(create("copy"), source)
	check(err)
	said, err := exec.Command(os.Args[0], "own.1").Output()
	check(err)
	fmt.Println(<-received, copied, string(said))
	check(os.Rename("copy", "renamed"))
}
