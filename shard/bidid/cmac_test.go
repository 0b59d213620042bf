package bidid

import (
	"encoding/hex"
	"testing"
)

// The examples of RFC 4493, section 4, whose messages are whole blocks.
func TestCMACMatchesRFC4493(t *testing.T) {
	key := newMACKey([16]byte(unhex(t, "2b7e151628aed2a6abf7158809cf4f3c")))
	if got := hex.EncodeToString(key.subkey[:]); got != "fbeed618357133667c85e08f7236a8de" {
		t.Errorf("subkey K1 = %s", got)
	}
	message := unhex(t, "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"+
		"30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710")
	for blocks, want := range map[int]string{
		1: "070a16b46b4d4144f79bdd9dd04a287c",
		4: "51f0bebf7e3b9d92fc49741779363cfe",
	} {
		var state [16]byte
		for i := range blocks - 1 {
			key.absorb(&state, message[16*i:16*i+16])
		}
		key.finish(&state, message[16*blocks-16:16*blocks])
		if got := hex.EncodeToString(state[:]); got != want {
			t.Errorf("%d blocks: %s, want %s", blocks, got, want)
		}
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
