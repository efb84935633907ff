import ArgumentParser
import NestModel
import Testing

@testable import nestbench

/// `nestbench cluster`: its command line, and what it notes of the kills.
@Suite struct ClusterCommandTests {
    private func parsed(_ arguments: [String]) throws -> ClusterCommand {
        try #require(try NestBench.parseAsRoot(["cluster"] + arguments) as? ClusterCommand)
    }

    @Test func clusterPartsAndEveryExampleAreAccepted() throws {
        #expect(try self.parsed([]).parts.isEmpty)
        #expect(try self.parsed(["apply", "kills", "--kills", "7"]).parts == [.apply, .kills])
        let help = ClusterCommand.configuration.discussion
        for part in ClusterCommand.Part.allCases { #expect(help.contains("  \(part.rawValue) "), "\(part)") }
        let examples = "\(help)\n\(NestBench.configuration.discussion)".split(separator: "\n")
            .map { $0.split(separator: " ").map(String.init) }
            .filter { $0.starts(with: ["nestbench", "cluster"]) }
        #expect(examples.count == 3)
        for example in examples { #expect(throws: Never.self) { try self.parsed(Array(example.dropFirst(2))) } }
    }

    @Test(arguments: [
        ["nothing"], ["--kills", "0"], ["--nodes", "1"], ["--nodes", "10"], ["--server", "127.0.0.1:7000"],
    ])
    func clusterArgumentsOutOfRangeAreRefused(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try self.parsed(arguments) }
    }

    /// An answer of the killed node that is still on its way does not end the pause.
    @Test func onlyAnotherNodeEndsAPause() throws {
        let ledger = ClusterLedger()
        let receipt = { (id: Int64) in
            Receipt(
                revision: Revision(UInt64(id)),
                isChanged: true,
                results: [Receipt.Run(first: ObjectID(id), count: 1)]
            )
        }
        try ledger.acknowledge("a", receipt(2), by: 7_000)
        #expect(ledger.pause == nil)
        ledger.beginPause(killed: 7_000)
        try ledger.acknowledge("b", receipt(3), by: 7_000)
        #expect(ledger.pause == nil)
        try ledger.acknowledge("c", receipt(4), by: 7_001)
        #expect(ledger.pause != nil)
        #expect(ledger.titles == [ObjectID(2): "a", ObjectID(3): "b", ObjectID(4): "c"] && ledger.head == Revision(4))
    }
}
