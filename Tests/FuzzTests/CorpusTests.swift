import Foundation
import NestFuzzing
import NestTestSupport
import Testing

/// Every input of the fuzzing corpus, unchanged or mutated, is accepted or refused without a trap.
@Suite struct CorpusTests {
    /// Returns the corpus files of `target`, sorted by name.
    private static func inputs(_ target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        let directory = Repository.root.appending(path: "Tests/Fixtures/Corpus/\(target.rawValue)")
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path()).sorted()
        return try names.map { ($0, [UInt8](try Data(contentsOf: directory.appending(path: $0)))) }
    }

    @Test(arguments: FuzzTarget.allCases)
    func everyInputIsAcceptedOrRefused(_ target: FuzzTarget) throws {
        let inputs = try Self.inputs(target)
        #expect(!inputs.isEmpty)
        for (name, bytes) in inputs { #expect(throws: Never.self, "\(name)") { try target.run(bytes) } }
    }

    @Test(arguments: FuzzTarget.allCases)
    func mutatedInputsAreAcceptedOrRefused(_ target: FuzzTarget) throws {
        let inputs = try Self.inputs(target)
        // Each target gets about the same amount of work, whatever the size of its corpus.
        var left = 1 << 18
        var seed: UInt64 = 0
        while left > 0 {
            var random = SeededRandom(seed: seed)
            let (name, original) = inputs[random.below(inputs.count)]
            let bytes = Self.neighbour(of: original, inputs[random.below(inputs.count)].bytes, &random)
            left -= (target == .meaning ? 8_000 : 200) + bytes.count
            do {
                try target.run(bytes)
            } catch {
                // Stop at the first failure.
                Issue.record("\(error): seed \(seed), from \(name): \(bytes)")
                return
            }
            seed += 1
        }
    }

    private static func neighbour(of original: [UInt8], _ other: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        var bytes = original
        for _ in 0...random.below(4) {
            let at = random.below(bytes.count + 1)
            switch random.below(5) {
            case 0 where at < bytes.count: bytes[at] = UInt8.random(in: 0...255, using: &random)
            case 1 where at < bytes.count: bytes[at] ^= 1 << UInt8(random.below(8))
            case 2 where at < bytes.count: bytes.removeSubrange(at..<min(bytes.count, at + 1 + random.below(8)))
            case 3: bytes.insert(contentsOf: other.suffix(random.below(other.count + 1)).prefix(64), at: at)
            default: bytes.insert(contentsOf: [0xff, 0, 0x80, 0x40].prefix(1 + random.below(4)), at: at)
            }
        }
        return bytes
    }
}
