//go:build !linux

package nodetest

import "syscall"

// dieWithParent does nothing where the kernel has no such service: a test that is killed leaves its nodes behind.
func dieWithParent() *syscall.SysProcAttr { return nil }
