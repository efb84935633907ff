/// How the proxy's faults change over time.
public struct ProxyPlan: Sendable {
    public struct Phase: Hashable, Sendable {
        public var milliseconds: Int
        public var faults: Faults

        public init(milliseconds: Int, _ faults: Faults) {
            self.milliseconds = milliseconds
            self.faults = faults
        }
    }

    private enum Source {
        case fixed(Faults)
        case script([Phase], next: Int)
        case random(ProxyRandom, isCalm: Bool)
    }

    private var source: Source

    /// Returns a plan whose faults never change.
    public static func fixed(_ faults: Faults) -> ProxyPlan { ProxyPlan(source: .fixed(faults)) }

    /// Returns a plan of phases in order, which starts again after the last.
    public static func script(_ phases: [Phase]) -> ProxyPlan {
        ProxyPlan(source: phases.isEmpty ? .fixed(.none) : .script(phases, next: 0))
    }

    /// Returns a plan of random phases, with calm phases in between so that connections make progress.
    public static func random(seed: UInt64) -> ProxyPlan {
        ProxyPlan(source: .random(ProxyRandom(seed: seed), isCalm: false))
    }

    /// Parses a script such as `2s calm, 500ms stall, 1s delay=50ms throttle=8k`.
    public init(script text: String) throws(FaultsError) {
        var phases: [Phase] = []
        for part in text.split(separator: ",") {
            let words = part.split(separator: " ", maxSplits: 1).map(String.init)
            guard words.count == 2 else { throw FaultsError("'\(part)' is not a phase; write 500ms stall") }
            phases.append(Phase(milliseconds: max(try Faults.milliseconds(words[0]), 1), try Faults(words[1])))
        }
        guard !phases.isEmpty else { throw FaultsError("a script needs at least one phase, such as 500ms stall") }
        self = .script(phases)
    }

    private init(source: Source) {
        self.source = source
    }

    /// Whether the faults never change.
    public var isFixed: Bool {
        if case .fixed = self.source { return true }
        return false
    }

    public mutating func nextPhase() -> Phase {
        switch self.source {
        case .fixed(let faults): return Phase(milliseconds: .max, faults)
        case .script(let phases, let next):
            self.source = .script(phases, next: (next + 1) % phases.count)
            return phases[next]
        case .random(var random, let isCalm):
            let phase = isCalm ? Self.calm(&random) : Self.trouble(&random)
            self.source = .random(random, isCalm: !isCalm)
            return phase
        }
    }

    private static func calm(_ random: inout ProxyRandom) -> Phase {
        Phase(milliseconds: random.pick(100...900), .none)
    }

    private static func trouble(_ random: inout ProxyRandom) -> Phase {
        var faults = Faults(direction: [nil, .toServer, .toClient][random.pick(0...2)])
        var milliseconds = random.pick(100...1_200)
        switch random.pick(0...9) {
        case 0: faults.delayMilliseconds = random.pick(1...80)
        case 1: faults.bytesPerSecond = random.pick(1...64) << 10
        case 2: faults.segments = .of(1)
        case 3: faults.segments = .random
        case 4:
            faults.segments = .random
            faults.delayMilliseconds = random.pick(1...30)
            faults.breaking = .init(.cut, afterBytes: random.pick(0...20_000))
        case 5: faults.breaking = .init(.cut, afterBytes: random.pick(0...8_000))
        case 6: faults.breaking = .init(.reset, afterBytes: random.pick(0...8_000))
        case 7: faults.breaking = .init(.stall, afterBytes: random.pick(0...2_000))
        case 8: faults.breaking = .init(.halfOpen, afterBytes: random.pick(0...2_000))
        default:
            faults = .none
            faults.isRefusing = true
            milliseconds = random.pick(50...300)
        }
        return Phase(milliseconds: milliseconds, faults)
    }
}
