//go:build linux

package environment

// Abandon releases the lock of the slot without cleaning, as a run that is killed does. Close afterwards does nothing.
func (w *Environment) Abandon() error {
	w.Nodes = nil
	err := w.slot.release()
	w.slot = nil
	return err
}
