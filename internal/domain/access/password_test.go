package access

import (
	"bytes"
	"strings"
	"testing"
)

func TestAPasswordMatchesItsHashOnly(t *testing.T) {
	salt := bytes.Repeat([]byte{7}, SaltBytes)
	hash := HashPassword("correct horse battery", salt)
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("the hash does not say how it was made: %s", hash)
	}
	if !PasswordMatches(hash, "correct horse battery") {
		t.Error("the password does not match its hash")
	}
	if PasswordMatches(hash, "correct horse batterz") {
		t.Error("another password matches")
	}
	if HashPassword("correct horse battery", bytes.Repeat([]byte{8}, SaltBytes)) == hash {
		t.Error("the salt makes no difference")
	}
}

func TestAHashThatCannotBeReadMatchesNothing(t *testing.T) {
	good := HashPassword("x", make([]byte, SaltBytes))
	for _, hash := range []string{
		"", "x", "$argon2id$", "$argon2i$v=19$m=64,t=1,p=1$AAAA$AAAA", "$argon2id$v=18$m=64,t=1,p=1$AAAA$AAAA",
		"$argon2id$v=19$m=64,t=0,p=1$AAAA$AAAA", "$argon2id$v=19$m=64,t=1,p=0$AAAA$AAAA",
		"$argon2id$v=19$m=64,t=1,p=1$AAAA$", "$argon2id$v=19$m=64,t=1,p=1$!$AAAA", good + "$",
	} {
		if PasswordMatches(hash, "x") {
			t.Errorf("%q matches", hash)
		}
	}
}

func TestATokenIsShownByItsBeginning(t *testing.T) {
	if got := Shown("dw_abcdefghijklmnop"); got != "dw_abcdef" {
		t.Errorf("shown as %q", got)
	}
	if got := Shown("short"); got != "short" {
		t.Errorf("shown as %q", got)
	}
}
