package config_test

import (
	"slices"
	"testing"

	"github.com/dogwatch/dogwatch/internal/config"
)

func TestAMistypedSettingIsAStranger(t *testing.T) {
	got := config.Strangers([]string{
		"DOGWATCH_LISTEN=:1", "DOGWATCH_CONFIG=x", "DOGWATCH_TOKEN=x", "DOGWATCH_TEST_LEASE=1s", "DOGWATCH_E2E_URL=x", "HOME=/", "DOGWATCHER=1",
		"DOGWATCH_TEST=1", "DOGWATCH_REDIS=redis://x", "DOGWATCH_MIN_HEARTBEATS=1s",
	})
	if want := []string{"DOGWATCH_MIN_HEARTBEATS", "DOGWATCH_REDIS", "DOGWATCH_TEST"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
