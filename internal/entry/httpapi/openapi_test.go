package httpapi

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestTheDocumentNeedsNothingThatRuns(t *testing.T) {
	raw, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]any
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" || len(doc.Paths) < 40 {
		t.Errorf("OpenAPI %s with %d addresses", doc.OpenAPI, len(doc.Paths))
	}
	again, err := OpenAPI()
	if err != nil || string(again) != string(raw) {
		t.Error("the document differs from one call to the next")
	}
}

// The dashboard's client is generated from a copy of the document: `make openapi`
// brings it up to date.
func TestTheDashboardsCopyIsCurrent(t *testing.T) {
	have, err := os.ReadFile("../../../web/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(have)) != strings.TrimSpace(string(want)) {
		t.Error("web/openapi.json is not what `dogwatch openapi` prints; run `make openapi`")
	}
}
