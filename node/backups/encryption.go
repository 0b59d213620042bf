package backups

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
)

// The errors of Decrypted. Errors of reading the stored bytes are returned as they are.
var (
	ErrEncrypted = errors.New("the backup is encrypted; --identity names the file with a secret key that opens it")
	ErrPlain     = errors.New("the backup is not encrypted, but --identity is set; make sure that it is the backup you mean, and leave the flag out")
	ErrOtherKey  = errors.New("none of the secret keys opens the backup: it was encrypted for others, or its begin was changed")
	ErrDamaged   = errors.New("the encrypted backup was cut or changed")
)

const (
	// encryptedMagic begins every file that age writes, as the magic of raftstore/backup begins every plain backup.
	encryptedMagic = "age-encryption.org/v1\n"
	keyFileMax     = 64 << 10          // BOUND: of a file of keys; a line has about 75 bytes.
	recipientsMax  = 64                // BOUND: each takes about 100 bytes in every backup.
	secretKeyBegin = "AGE-SECRET-KEY-" //nolint:gosec // What every such key begins with is no secret.
)

// Recipients are the public keys that a backup is encrypted for. Each of their owners can read it alone.
type Recipients []age.Recipient

// Identities are secret keys. One that fits is enough.
type Identities []age.Identity

// ReadRecipients returns the recipients of the given public keys (age1…) and those of the lines of a file; file may be
// "". The errors name the place and never a key, which might be a secret one in the wrong place.
func ReadRecipients(keys []string, file string) (Recipients, error) {
	var all Recipients
	add := func(where, key string) error {
		r, err := age.ParseX25519Recipient(key)
		switch {
		case strings.HasPrefix(key, secretKeyBegin):
			return fmt.Errorf("%s is a secret key; a backup is encrypted for a public key, which begins with age1", where)
		case err != nil:
			return fmt.Errorf("%s is not the public X25519 key of an age identity, such as age1… of 62 characters", where)
		case len(all) == recipientsMax:
			return fmt.Errorf("%s is one too many: a backup has at most %d recipients", where, recipientsMax)
		}
		all = append(all, r)
		return nil
	}
	for i, key := range keys {
		if err := add(fmt.Sprintf("recipient %d", i+1), strings.TrimSpace(key)); err != nil {
			return nil, err
		}
	}
	if file == "" {
		return all, nil
	}
	err := eachKey(file, add)
	return all, err
}

// ReadIdentities returns the secret keys of the lines of a file, as age-keygen writes it.
func ReadIdentities(file string) (Identities, error) {
	var all Identities
	err := eachKey(file, func(where, key string) error {
		id, err := age.ParseX25519Identity(key)
		if err != nil {
			return fmt.Errorf("%s is not the secret X25519 key of age, such as %s1…", where, secretKeyBegin)
		}
		all = append(all, id)
		return nil
	})
	return all, err
}

// eachKey calls fn for every line of a file of keys but empty ones and comments. A file without a key is an error: a
// backup must not stay unencrypted because its list of recipients was lost.
func eachKey(file string, fn func(where, key string) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // It is only read.
	text, err := io.ReadAll(io.LimitReader(f, keyFileMax+1))
	if err != nil {
		return err
	}
	if len(text) > keyFileMax {
		return fmt.Errorf("%s has more than %d bytes, so it is no file of keys", file, keyFileMax)
	}
	found, number := false, 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		found = true
		if err := fn(fmt.Sprintf("line %d of %s", number, file), line); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s holds no key", file)
	}
	return nil
}

// Encrypted returns a writer that encrypts what it gets for all recipients and writes it to w; without recipients it
// writes it as it is. The caller closes it, which writes the end and leaves w open. Nothing is kept but 64 KiB.
func Encrypted(w io.Writer, recipients Recipients) (io.WriteCloser, error) {
	if len(recipients) == 0 {
		return plainWriter{w}, nil
	}
	return age.Encrypt(w, recipients...)
}

// plainWriter is a writer whose Close does nothing.
type plainWriter struct{ io.Writer }

// Close does nothing.
func (plainWriter) Close() error { return nil }

// Decrypted returns the plain content of a stored backup. An encrypted one needs identities and a plain one must have
// none: somebody who can write where backups are stored could otherwise replace an encrypted backup by a plain one of
// their own. What it returns before io.EOF is authentic piece by piece, and complete only with io.EOF.
func Decrypted(r io.Reader, identities Identities) (io.Reader, error) {
	stored := &storedReader{r: r}
	in := bufio.NewReader(stored)
	begin, _ := in.Peek(len(encryptedMagic)) // An error is kept in stored; an end is a short begin.
	encrypted := string(begin) == encryptedMagic
	switch {
	case stored.err != nil:
		return nil, stored.err
	case encrypted && len(identities) == 0:
		return nil, ErrEncrypted
	case !encrypted && len(identities) > 0:
		return nil, ErrPlain
	case !encrypted:
		return in, nil
	}
	plain, err := age.Decrypt(in, identities...)
	if err != nil {
		return nil, stored.explain(err)
	}
	return &decryptedReader{plain, stored}, nil
}

// storedReader reads stored bytes and keeps the first error that is not their end, so that a failing disk or service is
// not taken for a changed backup.
type storedReader struct {
	r   io.Reader
	err error
}

// Read reads from the stored bytes.
func (s *storedReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// explain returns the error of the stored bytes that caused an error of age, or what the error means for a backup.
func (s *storedReader) explain(err error) error {
	if s.err != nil {
		return s.err
	}
	if _, other := errors.AsType[*age.NoIdentityMatchError](err); other {
		return ErrOtherKey
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// decryptedReader is the plain content of an encrypted backup.
type decryptedReader struct {
	plain  io.Reader
	stored *storedReader
}

// Read reads plain content. Its errors other than io.EOF are ErrDamaged or those of the stored bytes.
func (d *decryptedReader) Read(p []byte) (int, error) {
	n, err := d.plain.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = d.stored.explain(err)
	}
	return n, err
}
