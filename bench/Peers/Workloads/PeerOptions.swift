import ArgumentParser

/// What nest can be measured against.
enum PeerChoice: String, CaseIterable, ExpressibleByArgument {
    case redis
    case nats
    case natsCore = "nats-core"
    case etcd
    case postgresql
    case grpc
}

/// What all workloads take.
struct PeerOptions: ParsableArguments {
    @Option(parsing: .upToNextOption, help: "Which peers, of those that are installed.")
    var peers: [PeerChoice] = PeerChoice.allCases

    @Option(help: "Rounds; nest and the peers take turns, figures are medians.")
    var rounds = 3

    @Option(help: ArgumentHelp("Of each measurement that is limited by time.", valueName: "seconds"))
    var seconds = 2.0

    @Option(help: ArgumentHelp("Where the servers' stores are: on the disk in question.", valueName: "directory"))
    var directory = "/tmp"

    @Flag(help: "Print one JSON object per measurement instead of the table.")
    var json = false

    @Option(help: ArgumentHelp("A file that the JSON objects are written to as well.", valueName: "file"))
    var output: String?

    @Option(help: ArgumentHelp("The gRPC-swift server, which make bench-peers builds.", valueName: "program"))
    var grpcEcho: String?

    func validate() throws {
        guard (1...99).contains(self.rounds) else { throw ValidationError("--rounds is 1 to 99") }
        guard self.seconds > 0, self.seconds <= 600 else {
            throw ValidationError("--seconds is more than 0, at most 600")
        }
    }
}

struct NotifyOptions: ParsableArguments {
    @Option(parsing: .upToNextOption, help: "Subscribers of notify.") var subscribers = [1, 100, 1_000, 5_000]
    @Option(parsing: .upToNextOption, help: "Its writes in flight.") var inFlight = [1, 64]

    var workload: NotifyWorkload { NotifyWorkload(subscribers: self.subscribers, inFlight: self.inFlight) }

    func validate() throws {
        try Bounds.check(self.subscribers, 1...9_000, "--subscribers")
        // What nestd takes of one connection is 128.
        try Bounds.check(self.inFlight, 1...128, "--in-flight")
    }
}

struct RequestOptions: ParsableArguments {
    @Option(parsing: .upToNextOption, help: "Connections of request.") var connections = [1, 64]
    @Option(parsing: .upToNextOption, help: "Its requests in flight on each.") var depth = [1, 16]

    var workload: RequestWorkload { RequestWorkload(connections: self.connections, depths: self.depth) }

    func validate() throws {
        try Bounds.check(self.connections, 1...9_000, "--connections")
        try Bounds.check(self.depth, 1...100, "--depth")
    }
}

struct LoadOptions: ParsableArguments {
    @Option(help: "Items of load.") var items = 1_000_000

    var workload: LoadWorkload { LoadWorkload(items: self.items) }

    func validate() throws { try Bounds.check([self.items], 1...10_000_000, "--items") }
}

enum Bounds {
    static func check(_ values: [Int], _ bounds: ClosedRange<Int>, _ option: String) throws {
        guard !values.isEmpty, values.allSatisfy(bounds.contains) else {
            throw ValidationError("\(option) is \(bounds.lowerBound) to \(bounds.upperBound)")
        }
    }
}
