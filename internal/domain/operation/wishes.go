package operation

// Wishes is what an agent asks for its own task. It is applied when the topic
// ends, not while the agent that asks is still at work.
type Wishes struct {
	Complete        bool   `json:"complete,omitempty"`        // the whole task is done, not just this run
	CompleteWhy     string `json:"completeWhy,omitempty"`     // in its words
	Pause           bool   `json:"pause,omitempty"`           // no more runs until a person resumes it
	PauseWhy        string `json:"pauseWhy,omitempty"`        //
	Checkpoint      bool   `json:"checkpoint,omitempty"`      // a person has to look before it goes on
	CheckpointWhy   string `json:"checkpointWhy,omitempty"`   //
	NextBeatSeconds int64  `json:"nextBeatSeconds,omitempty"` // when a heartbeat should come next
	NextBeatWhy     string `json:"nextBeatWhy,omitempty"`     // in its words
}
