package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// keysMode is the mode of a keys file: only its owner can read it.
const keysMode = fs.FileMode(0o600)

// pendingKeys is the name of a keys file until it is known that its keys work.
func pendingKeys(path string) string { return path + ".pending" }

// writeKeys creates and syncs a keys file with mode 0600. A file that an interrupted start of this user left is
// replaced. Any other existing file is an error, because whoever created it could read the keys.
func writeKeys(path string, keys *FirstKeys) error {
	text, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return err
	}
	left, err := openPrivate(path)
	switch {
	case err == nil:
		err = errors.Join(left.Close(), os.Remove(path))
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return fmt.Errorf("keys_file: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|noFollow, keysMode)
	if err != nil {
		return fmt.Errorf("keys_file: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("keys_file: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}

// errTorn reports a keys file that was not written completely.
var errTorn = errors.New("the keys file is not complete")

// readKeys reads a keys file of this user. It returns errTorn when the file is incomplete.
func readKeys(path string) (*FirstKeys, error) {
	f, err := openPrivate(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, keysFileMax))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	keys := &FirstKeys{}
	if json.Unmarshal(text, keys) != nil {
		return nil, errTorn
	}
	return keys, nil
}

// keysFileMax bounds what is read of a keys file. BOUND: two keys and an id take less than 300 bytes.
const keysFileMax = 4 << 10

// openPrivate opens a file for reading if only this user can have created it and can read it: a regular file of this
// user with one name (no other hard link) and mode 0600. It checks the opened file and not the path, so nobody can
// exchange the file in between.
func openPrivate(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow|noWait, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s exists already and cannot be opened as a file of this user; remove it: %w", path, err)
	}
	info, err := f.Stat()
	if err == nil && (info.Mode() != keysMode || !exclusivelyOwned(info)) {
		err = fmt.Errorf("%s exists already and is not a file of this user with mode 0600 and a single hard link (mode %v); remove it", path, info.Mode())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
