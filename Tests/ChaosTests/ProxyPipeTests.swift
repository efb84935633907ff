import NIOCore
import NestTestSupport
import Testing

@testable import ChaosProxy

/// One direction of a proxied connection, without sockets and with the test's clock.
struct ProxyPipeTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000)

    private static func pipe(_ text: String, seed: UInt64 = 1) throws -> ProxyPipe {
        ProxyPipe(.toClient, try Faults(text), seed: seed)
    }

    /// Returns the pieces forwarded up to `milliseconds` after the start, and the next step.
    private static func forwarded(_ pipe: inout ProxyPipe, by milliseconds: Int64 = 1_000_000) -> (
        [String], ProxyPipe.Step
    ) {
        var (now, pieces) = (self.start, [String]())
        while true {
            switch pipe.next(now: now) {
            case .write(let bytes): pieces.append(String(buffer: bytes))
            case .wait(let deadline) where deadline <= self.start + .milliseconds(milliseconds): now = deadline
            case let step: return (pieces, step)
            }
        }
    }

    private static func send(_ texts: String..., to pipe: inout ProxyPipe) {
        for text in texts { pipe.received(ByteBuffer(string: text), now: self.start) }
    }

    @Test func calmForwardsEveryPieceUnchanged() throws {
        var pipe = try Self.pipe("calm")
        Self.send("hello", "world", to: &pipe)
        #expect(Self.forwarded(&pipe) == (["hello", "world"], .idle))
        pipe.ended()
        #expect(Self.forwarded(&pipe) == ([], .finish))
        #expect(pipe.forwardedBytes == 10 && pipe.isOver && !pipe.hasLost)
    }

    @Test func delayPostponesEveryByte() throws {
        var pipe = try Self.pipe("delay=50ms")
        Self.send("hello", to: &pipe)
        #expect(Self.forwarded(&pipe, by: 49) == ([], .wait(until: Self.start + .milliseconds(50))))
        #expect(Self.forwarded(&pipe, by: 50).0 == ["hello"])
    }

    @Test func throttleLimitsBytesPerSecond() throws {
        var pipe = try Self.pipe("throttle=100")
        Self.send(String(repeating: "x", count: 1_000), to: &pipe)
        let bytes = Self.forwarded(&pipe, by: 999).0.joined().count
        #expect(bytes == 100)
    }

    @Test(arguments: [Faults.Break.cut, .reset, .stall, .halfOpen])
    func breaksHappenAfterTheGivenByte(_ kind: Faults.Break) throws {
        var pipe = try Self.pipe("\(kind.rawValue)=7")
        Self.send("hello", "world", to: &pipe)
        let step: ProxyPipe.Step = [.cut: .cut, .reset: .reset][kind] ?? .idle
        #expect(Self.forwarded(&pipe) == (["hello", "wo"], step))
        pipe.ended()
        // A stall can end. Half-open cannot: the discarded bytes are missing.
        pipe.begin(.none)
        switch kind {
        case .stall: #expect(Self.forwarded(&pipe) == (["rld"], .finish))
        case .halfOpen: #expect(pipe.hasLost)
        case .cut, .reset: break
        }
    }

    @Test func resegmentingKeepsBytesAndOrder() throws {
        for seed in 0..<40 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            var pipe = try Self.pipe(seed % 4 == 0 ? "resegment=1" : "resegment=random", seed: seed)
            let text = (0..<50).map { "\($0) " + String(repeating: ".", count: random.below(200)) }
            for piece in text { Self.send(piece, to: &pipe) }
            pipe.ended()
            let (pieces, step) = Self.forwarded(&pipe)
            #expect(pieces.joined() == text.joined() && step == .finish, "seed \(seed)")
            if seed % 4 == 0 { #expect(pieces.allSatisfy { $0.utf8.count == 1 }) }
            #expect(pieces != text)
        }
    }

    @Test func aStalledPipeHoldsALimitedNumberOfBytes() throws {
        var pipe = try Self.pipe("stall")
        var reads = 0
        while pipe.wantsToRead {
            Self.send(String(repeating: "x", count: 10_000), to: &pipe)
            reads += 1
        }
        #expect(pipe.heldBytes < ProxyPipe.heldBytesMax + 10_000 && reads > 5)
        // The other direction is not affected.
        var other = ProxyPipe(.toServer, try Faults("stall to-client"), seed: 1)
        Self.send("x", to: &other)
        #expect(Self.forwarded(&other).0 == ["x"])
    }

    @Test func faultTextsRoundTrip() throws {
        let texts = [
            "calm", "delay=50ms", "delay=1500ms throttle=65536 resegment=random to-server", "cut=10000 to-client",
            "reset=0", "stall=0", "half-open=3", "refuse", "resegment=1",
        ]
        for text in texts { #expect("\(try Faults(text))" == text) }
        #expect(try Faults("delay=1.5s throttle=64k") == Faults("delay=1500 throttle=65536"))
        for text in ["", "slow", "delay", "delay=x", "cut=-1", "throttle=64q", "calm=1", "to-server=1"] {
            #expect(throws: FaultsError.self) { try Faults(text) }
        }
    }

    @Test func plansAreMadeFromScriptsAndSeeds() throws {
        var script = try ProxyPlan(script: "2s calm, 500ms stall to-client")
        let phases = (0..<3).map { _ in script.nextPhase() }
        #expect(phases[0] == phases[2] && phases[0] == .init(milliseconds: 2_000, .none))
        #expect(phases[1] == .init(milliseconds: 500, try Faults("stall to-client")))
        for text in ["", "2s", "x calm", "1s calm, 2s"] {
            #expect(throws: FaultsError.self) { try ProxyPlan(script: text) }
        }
        func random(_ seed: UInt64) -> [ProxyPlan.Phase] {
            var plan = ProxyPlan.random(seed: seed)
            return (0..<200).map { _ in plan.nextPhase() }
        }
        #expect(random(1) == random(1) && random(1) != random(2))
        // A random plan contains every kind of fault.
        let faults = random(1).map { "\($0.faults)" }.joined(separator: " ")
        for word in ["calm", "delay", "throttle", "resegment=1", "resegment=random", "refuse"]
            + Faults.Break.allCases.map(\.rawValue)
        {
            #expect(faults.contains(word), "\(word)")
        }
    }
}
