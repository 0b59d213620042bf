// Package drops ignores errors of a disk, and shows the ways that are allowed.
package drops

import (
	"net"
	"os"
)

type quiet struct{}

func (quiet) Close() {}

func write(name string, conn net.Conn) error {
	defer conn.Close() // A connection keeps nothing.
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	f.Sync()        // want: dropped error
	defer f.Close() // want: dropped error
	go f.Sync()     // want: dropped error
	_ = f.Sync()    // Visible.
	quiet{}.Close() // Has no error.
	f.Name()        // Promises nothing.
	defer func() {
		_ = f.Close()
	}()
	return f.Close()
}
