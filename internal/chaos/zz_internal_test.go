package chaos
import ("testing";"bytes";"os";"strings";"github.com/fullsend-ai/discovery/internal/forgesim")
func TestZZ(t *testing.T){
 b,_:=NewBench()
 text,_:=os.ReadFile("testdata/scenarios-listing.txt")
 _, rest, _ := strings.Cut(string(text), "\n== ")
 for _, story := range strings.Split(rest, "\n== ") {
  title, steps, _ := strings.Cut(story, "\n")
  for _, kind := range []forgesim.Kind{forgesim.WorkItem, forgesim.ChangeProposal} {
   var log bytes.Buffer
   err:=Play(b, scenario(t, steps, kind), Rules{}, &log)
   t.Log("#####",title,kind,err,"\n",log.String())
  }
 }
}
