package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// The parameters of argon2id (RFC 9106): the second choice of OWASP's recommendation, about 0.2 s of one CPU. They are part of every
// stored hash, so they can be raised; a hash with others is replaced at the next sign-in.
const (
	argonPasses  = 2
	argonMemory  = 19 << 10 // KiB, so 19 MiB for each hash that is being made.
	argonThreads = 1
	argonSalt    = 16 // Bytes.
	argonKey     = 32 // Bytes.
)

// Bounds of the hashing of this process, so that sign-ins can take neither all memory nor all CPUs.
const (
	hashesAtOnce  = 2  // BOUND: hashes that are being made; 38 MiB, and two CPUs.
	hashesWaiting = 32 // BOUND: callers that wait for one of them; the last waits about three seconds.
)

// The length of a password in characters. BOUND: argon2id reads the whole text, and nobody types more.
const (
	PasswordMin = 12
	PasswordMax = 256
)

// ErrBusy is returned when hashesWaiting callers wait already.
var ErrBusy = errors.New("too many sign-ins at the same moment")

// CheckPassword returns why a text cannot become a password, or nil.
func CheckPassword(text string) error {
	switch n := utf8.RuneCountInString(text); {
	case !utf8.ValidString(text):
		return errors.New("must be UTF-8 text")
	case n < PasswordMin:
		return fmt.Errorf("must have at least %d characters, this has %d", PasswordMin, n)
	case n > PasswordMax:
		return fmt.Errorf("must have at most %d characters, this has %d", PasswordMax, n)
	}
	return nil
}

// Hasher makes and compares the hashes of passwords, a bounded number at a time.
type Hasher struct {
	running chan struct{}
	waiting chan struct{}
	cost    parameters
	unknown string // The hash of a password that nobody has.
}

// NewHasher returns a Hasher.
func NewHasher() *Hasher { return newHasher(parameters{argonMemory, argonPasses, argonThreads}) }

// NewHasherForTests returns a Hasher whose hashes cost next to nothing and protect nothing, for tests that sign in often.
func NewHasherForTests() *Hasher { return newHasher(parameters{8, 1, 1}) }

func newHasher(cost parameters) *Hasher {
	h := &Hasher{running: make(chan struct{}, hashesAtOnce), waiting: make(chan struct{}, hashesAtOnce+hashesWaiting), cost: cost}
	h.unknown = encodeHash(cost, make([]byte, argonSalt), make([]byte, argonKey))
	return h
}

// begin waits until the caller may make a hash. It returns ErrBusy, or the error of ctx.
func (h *Hasher) begin(ctx context.Context) (end func(), err error) {
	select {
	case h.waiting <- struct{}{}:
	default:
		return nil, ErrBusy
	}
	select {
	case h.running <- struct{}{}:
		return func() { <-h.running; <-h.waiting }, nil
	case <-ctx.Done():
		<-h.waiting
		return nil, ctx.Err()
	}
}

// Hash returns the hash of a password in PHC form, with its parameters and a random salt.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	end, err := h.begin(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	salt := make([]byte, argonSalt)
	_, _ = rand.Read(salt) // crypto/rand never returns an error.
	return encodeHash(h.cost, salt, h.cost.key(password, salt)), nil
}

// Verify reports whether a password has the hash, and whether the hash should be replaced because its parameters are not today's. An
// empty hash is that of nobody: it fails and takes as long as another, so that an answer's time does not tell which addresses exist.
func (h *Hasher) Verify(ctx context.Context, password, hash string) (ok, outdated bool, err error) {
	nobody := hash == ""
	if nobody {
		hash = h.unknown
	}
	p, salt, want, err := decodeHash(hash)
	if err != nil {
		return false, false, err
	}
	if utf8.RuneCountInString(password) > PasswordMax {
		password, nobody = "", true // It is nobody's; the same work is done for a shorter one.
	}
	end, err := h.begin(ctx)
	if err != nil {
		return false, false, err
	}
	defer end()
	same := subtle.ConstantTimeCompare(p.key(password, salt), want) == 1
	return same && !nobody, p != h.cost, nil
}

// parameters are the costs of a hash.
type parameters struct {
	memory  uint32 // KiB
	passes  uint32
	threads uint8
}

func (p parameters) key(password string, salt []byte) []byte {
	return argon2.IDKey([]byte(password), salt, p.passes, p.memory, p.threads, argonKey)
}

const phcPrefix = "$argon2id$v=19$"

// encodeHash writes the PHC form: $argon2id$v=19$m=KiB,t=PASSES,p=THREADS$SALT$KEY.
func encodeHash(p parameters, salt, key []byte) string {
	b := base64.RawStdEncoding
	return fmt.Sprintf("%sm=%d,t=%d,p=%d$%s$%s", phcPrefix, p.memory, p.passes, p.threads, b.EncodeToString(salt), b.EncodeToString(key))
}

// errHash is returned for a stored text that is no hash of this package.
var errHash = errors.New("the stored password hash is not readable")

// The most costly parameters that are accepted from the state. BOUND: a restored backup cannot make one sign-in take all memory.
const (
	memoryMax = 256 << 10 // KiB
	passesMax = 16
)

func decodeHash(text string) (p parameters, salt, key []byte, err error) {
	rest, found := strings.CutPrefix(text, phcPrefix)
	parts := strings.Split(rest, "$")
	if !found || len(parts) != 3 {
		return p, nil, nil, errHash
	}
	if n, err := fmt.Sscanf(parts[0], "m=%d,t=%d,p=%d", &p.memory, &p.passes, &p.threads); n != 3 || err != nil {
		return p, nil, nil, errHash
	}
	if p.memory == 0 || p.memory > memoryMax || p.passes == 0 || p.passes > passesMax || p.threads == 0 {
		return p, nil, nil, errHash
	}
	salt, err = base64.RawStdEncoding.Strict().DecodeString(parts[1])
	if err == nil {
		key, err = base64.RawStdEncoding.Strict().DecodeString(parts[2])
	}
	if err != nil || len(key) != argonKey {
		return p, nil, nil, errHash
	}
	return p, salt, key, nil
}
