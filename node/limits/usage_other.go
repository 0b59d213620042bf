//go:build !linux

package limits

import "errors"

// ReadMemoryUse returns errors.ErrUnsupported: only Linux tells a process what is resident.
func ReadMemoryUse() (MemoryUse, error) { return MemoryUse{}, errors.ErrUnsupported }
