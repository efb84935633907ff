import ArgumentParser
import ChaosProxy
import Glibc
import NIOCore

/// Simulates a faulty network between clients and a server.
struct ProxyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "proxy",
        abstract: "Simulate a faulty network between clients and a server.",
        discussion: """
            Forwards each client connection to the server and applies the faults of the options to every connection, \
            in both directions unless --direction is given. A fault with -at begins after that many bytes of a \
            connection; 0 means at once. Memory is bounded: a sender that is faster than its receiver is blocked.

            --script changes the faults over time. It is a comma-separated list of phases, each a time and its faults \
            (\(Faults.words)). After the last phase the script starts again. --random generates phases from --seed, \
            with calm phases in between.

            Write times as 250ms or 1.5s, and bytes as 10000, 64k or 1m.

            Examples:
              nestbench proxy --listen 7001 --to 127.0.0.1:7000 --delay 50ms --throttle 64k
              nestbench proxy --cut-at 10000 --direction to-client
              nestbench proxy --resegment 1
              nestbench proxy --script '2s calm, 500ms stall, 1s delay=80ms throttle=8k, 100ms reset' --json
              nestbench proxy --random --seed 7
            """
    )

    @Option(help: ArgumentHelp("The address to listen on; port 0 selects a free port.", valueName: "[host:]port"))
    var listen = ProxyAddress(port: 7001)

    @Option(help: ArgumentHelp("The server's address.", valueName: "[host:]port"))
    var to = ProxyAddress(port: 7000)

    @Option(help: ArgumentHelp("Delay every byte by this time.", valueName: "time"))
    var delay: FaultTime?

    @Option(help: ArgumentHelp("Forward this many bytes per second.", valueName: "bytes"))
    var throttle: FaultBytes?

    @Option(
        help: ArgumentHelp(
            "Join and split the bytes into pieces of n bytes, or of random size.",
            valueName: "n|random"
        )
    )
    var resegment: String?

    @Option(help: ArgumentHelp("End the connection normally after this many bytes.", valueName: "bytes"))
    var cutAt: FaultBytes?

    @Option(help: ArgumentHelp("Reset the connection (RST) after this many bytes.", valueName: "bytes"))
    var resetAt: FaultBytes?

    @Option(
        help: ArgumentHelp("Forward nothing after this many bytes, and keep the connection.", valueName: "bytes")
    )
    var stallAt: FaultBytes?

    @Option(
        help: ArgumentHelp("Discard everything after this many bytes, and the connection's end.", valueName: "bytes")
    )
    var halfOpenAt: FaultBytes?

    @Flag(help: "Reset new connections.")
    var refuse = false

    @Option(
        help: ArgumentHelp("Direction of the faults: to-server or to-client. (default: both)", valueName: "direction")
    )
    var direction: ProxyDirection?

    @Option(help: ArgumentHelp("Phases of faults, in order.", valueName: "phases"))
    var script: String?

    @Flag(help: "Apply random faults that change over time.")
    var random = false

    @Option(help: "The seed of random faults and sizes.")
    var seed: UInt64 = 1

    @Flag(help: "Log one JSON object per line.")
    var json = false

    func validate() throws {
        let breaks = [self.cutAt, self.resetAt, self.stallAt, self.halfOpenAt].count { $0 != nil }
        guard breaks <= 1 else { throw ValidationError("use only one of the options with -at") }
        guard [self.faults != .none, self.script != nil, self.random].count(where: { $0 }) <= 1 else {
            throw ValidationError("--script, --random and the options for faults cannot be combined")
        }
        _ = try self.plan
        if let resegment { _ = try Self.segments(resegment) }
    }

    func run() async throws {
        let clock = ContinuousClock()
        let (start, isJSON) = (clock.now, self.json)
        let plan = try self.plan
        do {
            let proxy = try await ChaosProxy.start(
                listen: self.listen.address,
                to: self.to.address,
                plan: plan,
                seed: self.seed
            ) { event in
                let milliseconds = Int((clock.now - start) / .milliseconds(1))
                print(isJSON ? event.json(milliseconds: milliseconds) : event.text(milliseconds: milliseconds))
                fflush(nil)
            }
            try await proxy.wait()
        } catch let error as IOError {
            let reason = String(cString: strerror(error.errnoCode))
            var line = "nestbench: cannot listen on \(self.listen.defaultValueDescription): \(reason)\n"
            line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
            throw ExitCode(69)
        }
    }

    private var plan: ProxyPlan {
        get throws {
            if self.random { return .random(seed: self.seed) }
            do {
                return try self.script.map { try ProxyPlan(script: $0) } ?? .fixed(self.faults)
            } catch let error as FaultsError {
                throw ValidationError("--script: \(error)")
            }
        }
    }

    private var faults: Faults {
        var faults = Faults(direction: self.direction)
        faults.delayMilliseconds = self.delay?.milliseconds ?? 0
        faults.bytesPerSecond = self.throttle.map { max($0.count, 1) }
        faults.segments = self.resegment.flatMap { try? Self.segments($0) } ?? .asTheyCome
        let breaks: [(Faults.Break, FaultBytes?)] = [
            (.cut, self.cutAt), (.reset, self.resetAt), (.stall, self.stallAt), (.halfOpen, self.halfOpenAt),
        ]
        for (kind, bytes) in breaks { if let bytes { faults.breaking = .init(kind, afterBytes: bytes.count) } }
        faults.isRefusing = self.refuse
        return faults
    }

    private static func segments(_ text: String) throws -> Faults.Segments {
        if text == "random" { return .random }
        guard let size = FaultBytes(argument: text)?.count, size > 0 else {
            throw ValidationError("--resegment takes a number of bytes or 'random', not '\(text)'")
        }
        return .of(size)
    }
}

extension ProxyDirection: ExpressibleByArgument {}

struct ProxyAddress: ExpressibleByArgument {
    var address: ChaosProxy.Address

    init(port: Int) { self.address = ChaosProxy.Address(port: port) }

    init?(argument: String) {
        let colon = argument.lastIndex(of: ":")
        let digits = colon.map { argument[argument.index(after: $0)...] } ?? argument[...]
        guard let port = UInt16(digits) else { return nil }
        self.init(port: Int(port))
        if let colon { self.address.host = String(argument[..<colon]) }
    }

    var defaultValueDescription: String { "\(self.address.host):\(self.address.port)" }
}

struct FaultTime: ExpressibleByArgument {
    var milliseconds: Int

    init?(argument: String) {
        guard let milliseconds = try? Faults.milliseconds(argument) else { return nil }
        self.milliseconds = milliseconds
    }
}

struct FaultBytes: ExpressibleByArgument {
    var count: Int

    init?(argument: String) {
        guard let count = try? Faults.bytes(argument) else { return nil }
        self.count = count
    }
}
