import ArgumentParser
import NestProtocol
import NestModel
import Testing

@testable import nestbench

/// Command line arguments of `nestbench attack`.
@Suite struct AttackCommandTests {
    private func parsed(_ arguments: [String]) throws -> AttackCommand {
        try #require(try NestBench.parseAsRoot(["attack"] + arguments) as? AttackCommand)
    }

    @Test func attackNamesAndEveryExampleAreAccepted() throws {
        #expect(try self.parsed([]).attacks.isEmpty)
        #expect(try self.parsed(["held-replies", "crash"]).attacks == [.heldReplies, .crash])
        let help = AttackCommand.configuration.discussion
        for attack in Attack.allCases { #expect(help.contains("  \(attack.rawValue) "), "\(attack)") }
        let examples = "\(help)\n\(NestBench.configuration.discussion)".split(separator: "\n")
            .map { $0.split(separator: " ").map(String.init) }
            .filter { $0.starts(with: ["nestbench", "attack"]) }
        #expect(examples.count == 6)
        for example in examples { #expect(throws: Never.self) { try self.parsed(Array(example.dropFirst(2))) } }
    }

    @Test(arguments: [
        ["nothing"], ["--seconds", "0"], ["--bystanders", "0"], ["--settle", "-1"], ["--patience", "0"],
        ["--rows", "0"],
        ["--levels", "\(Limits.depthMax + 1)"], ["--patterns", "\(Limits.subscriptionsPerConnectionMax + 1)"],
        ["--json", "--markdown"], ["--server", "127.0.0.1:7000"],
    ])
    func argumentsOutOfRangeAreRefused(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try self.parsed(arguments) }
    }

    /// A few bytes unpack to the maximum number of rows in a chunk.
    @Test func aRowBombUnpacksToTheMaximumOfRows() throws {
        let bomb = RowBombs.chunk()
        #expect(bomb.count < 64)
        var reader = SubtreeChunkReader(valueCount: 1)
        let unpacked = try PackedBytes.unpack(bomb, sizeMax: Limits.chunkUnpackedBytesMax)
        #expect(try reader.rows(of: unpacked).count == Limits.chunkRowsMax)
    }

    /// Every subscription of the attack has a different request, and each request is within the limits.
    @Test func predicateMassRequestsAreDistinctAndAllowed() throws {
        let count = 4 * Limits.subscriptionsPerConnectionMax
        let requests = try (0..<count).map { try PredicateMass.request($0) }
        #expect(Set(requests).count == count)
    }
}
