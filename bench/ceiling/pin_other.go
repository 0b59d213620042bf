//go:build !linux

package main

// pin does nothing on systems other than Linux and returns false.
func pin(int) bool { return false }
