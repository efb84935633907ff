import ArgumentParser

/// A peer that nest can be compared with.
enum PeerChoice: String, CaseIterable, ExpressibleByArgument {
    case redis
    case nats
    case natsCore = "nats-core"
    case etcd
    case postgresql
    case grpc
}

/// The options of all workloads.
struct PeerOptions: ParsableArguments {
    @Option(parsing: .upToNextOption, help: "The peers to measure, if they are installed.")
    var peers: [PeerChoice] = PeerChoice.allCases

    @Option(help: "Number of rounds. nest and the peers alternate; figures are medians.")
    var rounds = 3

    @Option(help: ArgumentHelp("The time of each measurement that is limited by time.", valueName: "seconds"))
    var seconds = 2.0

    @Option(help: ArgumentHelp("The directory for stores, on the disk to measure.", valueName: "directory"))
    var directory = "/tmp"

    @Flag(help: "Print one JSON object per measurement instead of the table.")
    var json = false

    @Option(help: ArgumentHelp("A file to which the JSON objects are written as well.", valueName: "file"))
    var output: String?

    @Option(help: ArgumentHelp("The gRPC-swift server that make bench-peers builds.", valueName: "program"))
    var grpcEcho: String?

    func validate() throws {
        guard (1...99).contains(self.rounds) else { throw ValidationError("--rounds must be 1 to 99") }
        guard self.seconds > 0, self.seconds <= 600 else {
            throw ValidationError("--seconds must be more than 0 and at most 600")
        }
    }
}

struct NotifyOptions: ParsableArguments {
    @Option(parsing: .upToNextOption, help: "notify: subscribers.") var subscribers = [1, 100, 1_000, 5_000]
    @Option(parsing: .upToNextOption, help: "notify: writes in flight.") var inFlight = [1, 64]

    var workload: NotifyWorkload { NotifyWorkload(subscribers: self.subscribers, inFlight: self.inFlight) }

    func validate() throws {
        try Bounds.check(self.subscribers, 1...9_000, "--subscribers")
        // nestd accepts 128 requests in flight on a connection.
        try Bounds.check(self.inFlight, 1...128, "--in-flight")
    }
}

struct RequestOptions: ParsableArguments {
    @Option(parsing: .upToNextOption, help: "request: connections.") var connections = [1, 64]
    @Option(parsing: .upToNextOption, help: "request: requests in flight on each connection.") var depth = [1, 16]

    var workload: RequestWorkload { RequestWorkload(connections: self.connections, depths: self.depth) }

    func validate() throws {
        try Bounds.check(self.connections, 1...9_000, "--connections")
        try Bounds.check(self.depth, 1...100, "--depth")
    }
}

struct LoadOptions: ParsableArguments {
    @Option(help: "load: items.") var items = 1_000_000

    var workload: LoadWorkload { LoadWorkload(items: self.items) }

    func validate() throws { try Bounds.check([self.items], 1...10_000_000, "--items") }
}

enum Bounds {
    static func check(_ values: [Int], _ bounds: ClosedRange<Int>, _ option: String) throws {
        guard !values.isEmpty, values.allSatisfy(bounds.contains) else {
            throw ValidationError("\(option) must be \(bounds.lowerBound) to \(bounds.upperBound)")
        }
    }
}
