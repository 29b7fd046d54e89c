package access

import "testing"

func TestATokenIsShownByItsBeginning(t *testing.T) {
	if got := Shown("dw_abcdefghijklmnop"); got != "dw_abcdef" {
		t.Errorf("shown as %q", got)
	}
	if got := Shown("short"); got != "short" {
		t.Errorf("shown as %q", got)
	}
}
