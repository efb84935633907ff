import ArgumentParser
import NestModel

/// How new a read must be.
struct NewestOption: ParsableArguments {
    @Flag(help: "Read the newest state, also at a node of a cluster that lags.")
    var newest = false

    var atLeast: Revision { self.newest ? .newest : Revision(0) }
}
