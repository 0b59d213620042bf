//go:build !linux

package nodetest

import "syscall"

// killWithParent returns nil: other kernels have no such function, so a killed test leaves its nodes running.
func dieWithParent() *syscall.SysProcAttr { return nil }
