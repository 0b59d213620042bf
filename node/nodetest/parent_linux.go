package nodetest

import "syscall"

// killWithParent makes the kernel kill the child when this process ends.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
