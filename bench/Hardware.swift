import CLimits
import Glibc

/// What nest or a limit used of the hardware while it worked, as shares of 1.
struct HardwareUse {
    /// 1: one processor, all the time. A server with several threads may use more.
    var processor: Double
    /// The same of the clients, if the server has a process of its own. Near 1, they are what both sides wait for.
    var clients: Double?
    /// A limit's calls of `fdatasync` in a second, divided by those that the disk does for one thread alone.
    var disk: Double?

    init(processor: Double, clients: Double? = nil, disk: Double? = nil) {
        (self.processor, self.clients, self.disk) = (processor, clients, disk)
    }

    /// The medians of several rounds; `nil` without rounds.
    init?(medianOf rounds: [HardwareUse]) {
        guard !rounds.isEmpty else { return nil }
        func median(_ shares: [Double]) -> Double? { shares.isEmpty ? nil : Measurement.median(shares) }
        self.init(
            processor: Measurement.median(rounds.map(\.processor)),
            clients: median(rounds.compactMap(\.clients)),
            disk: median(rounds.compactMap(\.disk))
        )
    }

    private var shares: [(name: String, share: Double)] {
        [("processor", self.processor), ("clients", self.clients), ("disk", self.disk)].compactMap { name, share in
            share.map { (name, $0) }
        }
    }

    var text: String { self.shares.map { "\($0.name) \(Report.fixed($0.share))" }.joined(separator: ", ") }

    var json: String { "{\(self.shares.map { "\"\($0.name)\":\($0.share)" }.joined(separator: ","))}" }
}

/// Measures what a server uses, or SQLite alone, from the meter's creation until `stop`.
struct HardwareMeter {
    private let server: Child?
    private let start = Turns.wallTime()
    private let before: Double
    private let clientsBefore = Turns.processTime()

    /// Without a server, it measures the calling thread, which must also stop the meter.
    init(_ server: Child? = nil) {
        self.server = server
        self.before = server?.processorTime ?? Turns.threadTime()
    }

    /// `syncs`: the number of the limit's calls of `fdatasync`. `disk`: how many the disk does in a second.
    func stop(syncs: Int = 0, disk: Double? = nil) -> HardwareUse {
        let time = Turns.wallTime() - self.start
        return HardwareUse(
            processor: ((self.server?.processorTime ?? Turns.threadTime()) - self.before) / time,
            clients: self.server == nil ? nil : (Turns.processTime() - self.clientsBefore) / time,
            disk: disk.map { Double(syncs) / time / $0 }
        )
    }
}

enum Disk {
    private static let writeBytes = 4_096
    private static let seconds = 0.1

    /// Returns how many writes of 4 KiB, each with an `fdatasync`, one thread does in a second in the file of a limit.
    static func syncsPerSecond(in directory: String) throws -> Double {
        var file = nest_limit_file()
        try LimitFailure.check(nest_limit_file_open(&file, directory))
        defer { nest_limit_file_close(&file) }
        let bytes = [UInt8](repeating: 120, count: Self.writeBytes)
        let start = Turns.wallTime()
        var count = 0.0
        repeat {
            try LimitFailure.check(nest_limit_file_write(&file, bytes, bytes.count))
            count += 1
        } while Turns.wallTime() - start < Self.seconds
        return count / (Turns.wallTime() - start)
    }
}
