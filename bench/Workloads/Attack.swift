import ArgumentParser
import Histogram
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestModel
import NestWire

/// One client that means no good, and many who work: how long these wait for their answers, with it and without.
struct AttackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attack",
        abstract: "Waiting of many clients while one floods, by what it floods with.",
        discussion: """
            Each victim asks for one object, waits for it, pauses, and asks again. In each round every attack takes its turn after a
            time without any; the ratio is that of the 99th percentiles. An attack that the server ends begins again at once.
            """
    )
    @OptionGroup var options: BenchOptions

    @Option(help: "Victims.")
    var victims = 100

    @Option(help: "Seconds of each measurement.")
    var seconds = 3

    @Option(help: ArgumentHelp("Attacks, by name; all by default.", valueName: "name"))
    var only: [Attack] = []

    func validate() throws {
        guard (1...1_000).contains(self.victims) else { throw ValidationError("--victims is 1 to 1000") }
        guard (1...600).contains(self.seconds) else { throw ValidationError("--seconds is 1 to 600") }
    }

    func run() async throws {
        let target = try BenchTarget(self.options)
        let attackers = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var victims: [Victim] = []
        for _ in 0..<self.victims { victims.append(try await Victim(target.connect())) }
        for victim in victims { try await victim.start() }
        let report = Report(isJSON: self.options.json)
        for attack in self.only.isEmpty ? Attack.allCases : self.only {
            var with: [Double] = []
            var without: [Double] = []
            var latency = Histogram<UInt64>(highestTrackableValue: 600_000_000, numberOfSignificantValueDigits: .three)
            for _ in 0..<self.options.rounds {
                without.append(try await self.percentile(of: victims).p99)
                let attacker = Attacker(attack, host: target.host, port: target.port, on: attackers.next())
                attacker.start()
                let measured = try await self.percentile(of: victims)
                try await attacker.stop()
                with.append(measured.p99)
                latency = measured.latency
            }
            report.add(
                Measurement(
                    workload: "attack",
                    parameters: "\(attack.rawValue), \(self.victims) victims",
                    unit: "us",
                    nest: with,
                    limitName: "p99 without the attack",
                    limit: without,
                    latency: latency,
                    isTime: true,
                    wanted: attack.isWork ? "no bound: it is work that the client may ask for" : "at most 2"
                )
            )
        }
        for victim in victims { try await victim.close() }
        try await attackers.shutdownGracefully()
        try await target.shutdown()
    }

    private func percentile(of victims: [Victim]) async throws -> (p99: Double, latency: Histogram<UInt64>) {
        for victim in victims { _ = try await victim.take() }
        try await Task.sleep(for: .seconds(self.seconds))
        var all = Histogram<UInt64>(highestTrackableValue: 600_000_000, numberOfSignificantValueDigits: .three)
        for victim in victims {
            for value in try await victim.take() { all.record(value) }
        }
        return (Double(all.valueAtPercentile(99)), all)
    }
}

/// What a client floods with.
enum Attack: String, CaseIterable, ExpressibleByArgument, Sendable {
    case pings, cancels, unknown, connections, silence, requests, subscriptions, unread, writes

    /// The server does what is asked, as long as it is asked: others share it.
    var isWork: Bool { self == .writes }

    /// About 64 KiB of it, with ids above the last; how many ids it took.
    func bytes(after last: UInt32) -> (ByteBuffer, UInt32) {
        var buffer = ByteBuffer()
        var id = last
        while buffer.readableBytes < 64 << 10 {
            id += 1
            switch self {
            case .pings: buffer.writeImmutableBuffer(Ping(payload: UInt64(id)).frame(id: 0))
            case .cancels: buffer.writeImmutableBuffer(Cancel().frame(id: 1))
            case .unknown: buffer.writeMultipleIntegers(UInt32(0), UInt8(0x7f), UInt8(0), UInt16(0), id)
            case .requests, .unread: buffer.writeImmutableBuffer(GetObject(id: ObjectID(1)).frame(id: id))
            case .subscriptions:
                // Each another result, over all objects.
                let comparison = Comparison(
                    path: PropertyPath(leaf: .attribute(PropertyNumber(1))),
                    operator: .contains,
                    values: [.string("\(id)")]
                )
                let request = FetchRequest(entity: EntityNumber(1), predicate: Predicate(comparison))
                buffer.writeImmutableBuffer(Subscribe(request).frame(id: id))
            case .writes: buffer.writeImmutableBuffer(Load.insertFrame(under: ObjectID(1), id: id))
            case .connections, .silence: return (buffer, id)
            }
        }
        return (buffer, id)
    }
}
