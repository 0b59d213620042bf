package nodetest

import "syscall"

// killWithParent makes the kernel kill the child when this process ends.
func killWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
