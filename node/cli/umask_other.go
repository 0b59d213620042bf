//go:build !unix

package cli

// makeFilesPrivate does nothing: other systems have no file modes.
func makeFilesPrivate() {}
