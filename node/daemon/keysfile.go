package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// keysMode is the mode of a keys file: its owner alone reads it.
const keysMode = fs.FileMode(0o600)

// pendingKeys is the name of a keys file whose keys may not count.
func pendingKeys(path string) string { return path + ".pending" }

// writeKeys writes a keys file that is not there yet, readable by its owner only, and syncs it. A file that this user left
// there before, in a start that did not come to its end, is replaced; any other is refused, because whoever made it could
// read the keys in it.
func writeKeys(path string, keys *FirstKeys) error {
	text, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return err
	}
	left, err := openOwn(path)
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

// errTorn is a keys file that was not written to its end.
var errTorn = errors.New("the keys file is not complete")

// readKeys reads a keys file of this user. errTorn when it is not complete.
func readKeys(path string) (*FirstKeys, error) {
	f, err := openOwn(path)
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

// openOwn opens a file for reading, if it is one that only this user could have made and can read: a regular file, with no
// other name, of this user, with mode 0600. What is checked is what was opened, so nobody can put another in its place.
func openOwn(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow|noWait, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s is there already and cannot be opened as a file of this user; remove it: %w", path, err)
	}
	info, err := f.Stat()
	if err == nil && (info.Mode() != keysMode || !ownedAlone(info)) {
		err = fmt.Errorf("%s is there already and is not a file of this user with mode 0600 and one name (mode %v); remove it", path, info.Mode())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
