import NIOCore
import NestClient
import NestModel
import NestProtocol
import Testing
import NestFraming

/// A snapshot may arrive in any number of frames. An inconsistent snapshot is refused and never becomes the state.
@Suite struct SnapshotAssemblerTests {
    private static func header(
        total: Int,
        _ sections: [(String, Int)],
        of sectionCount: Int? = nil,
        start: WindowStart = WindowStart()
    ) -> SnapshotMessage {
        var message = SnapshotMessage(
            SnapshotHeader(
                reason: .first,
                revision: Revision(7),
                digest: 0,
                window: WindowPosition(total: total, sectionTotal: sectionCount ?? sections.count, start: start),
                sections: sections.map { .init(key: .string($0.0), rowCount: $0.1) }
            )
        )
        message.sectionCount = sectionCount ?? sections.count
        return message
    }

    private static func sections(_ sections: [(String, Int)]) -> ByteBuffer {
        var writer = ByteWriter()
        writer.write(count: sections.count)
        for section in sections {
            writer.write(value: .string(section.0))
            writer.write(count: section.1)
        }
        return ByteBuffer(bytes: writer.bytes)
    }

    private static func rows(_ ids: ClosedRange<Int64>) -> ByteBuffer {
        ByteBuffer(bytes: Fixtures.rows(ids.map { Fixtures.row($0, "r\($0)") }).bytes)
    }

    /// Returns the ids in each section of the assembled snapshot.
    private static func assemble(
        _ head: SnapshotMessage,
        _ parts: (inout SnapshotAssembler) throws -> Void
    ) throws -> [[Int64]] {
        // Decode the message as it arrives.
        let message = try SnapshotMessage(body: ByteBuffer(bytes: head.body))
        #expect(message == head)
        var assembler = SnapshotAssembler(message, projection: [PropertyNumber(1)])
        try parts(&assembler)
        let state = try assembler.finish()
        #expect(state.revision == Revision(7))
        return state.sections.map { section in section.rows.map(\.id.rawValue) }
    }

    private static func isRefused(
        _ head: SnapshotMessage,
        _ parts: (inout SnapshotAssembler) throws -> Void
    ) throws -> Bool {
        do {
            _ = try Self.assemble(head, parts)
            return false
        } catch let error as WireError {
            #expect(error.nestError.code == .malformed)
            return true
        }
    }

    @Test func sectionsAndRowsMayArriveInAnyParts() throws {
        let head = Self.header(total: 5, [("A", 2)], of: 3)
        let together = try Self.assemble(head) { assembler in
            try assembler.add(sections: Self.sections([("B", 1), ("C", 2)]))
            try assembler.add(rows: Self.rows(1...5))
        }
        let apart = try Self.assemble(head) { assembler in
            for section in [("B", 1), ("C", 2)] { try assembler.add(sections: Self.sections([section])) }
            for id in 1...5 as ClosedRange<Int64> { try assembler.add(rows: Self.rows(id...id)) }
        }
        #expect(together == [[1, 2], [3], [4, 5]] && apart == together)
    }

    @Test func anEmptyResultHasOneOrNoSections() throws {
        #expect(try Self.assemble(Self.header(total: 0, [("", 0)])) { _ in } == [[]])
        #expect(try Self.assemble(Self.header(total: 0, [])) { _ in } == [])
    }

    @Test func aWindowHasFewerRowsThanTheResult() throws {
        let start = WindowStart(row: 100, section: 1, rowInSection: 40)
        var head = Self.header(total: 2_000, [("B", 1), ("C", 1)], start: start)
        head.header.window.sectionTotal = 26
        #expect(try Self.assemble(head) { try $0.add(rows: Self.rows(1...2)) } == [[1], [2]])
    }

    @Test func inconsistentSnapshotsAreRefused() throws {
        let whole = Self.header(total: 3, [("A", 1), ("B", 2)])
        #expect(try Self.isRefused(whole) { try $0.add(rows: Self.rows(1...2)) }, "too few rows")
        #expect(try Self.isRefused(whole) { try $0.add(rows: Self.rows(1...4)) }, "too many rows")
        #expect(
            try Self.isRefused(whole) { assembler in
                try assembler.add(rows: Self.rows(1...3))
                try assembler.add(rows: Self.rows(4...4))
            },
            "one row too many"
        )
        let part = Self.header(total: 3, [("A", 1)], of: 2)
        #expect(try Self.isRefused(part) { try $0.add(rows: Self.rows(1...1)) }, "a section is missing")
        #expect(
            try Self.isRefused(part) { assembler in
                try assembler.add(rows: Self.rows(1...1))
                try assembler.add(sections: Self.sections([("B", 2)]))
            },
            "a section after a row"
        )
        #expect(
            try Self.isRefused(part) { try $0.add(sections: Self.sections([("B", 1), ("C", 1)])) },
            "more sections than announced"
        )
        #expect(
            try Self.isRefused(part) { assembler in
                try assembler.add(sections: Self.sections([("B", 3)]))
                try assembler.add(rows: Self.rows(1...4))
            },
            "more rows than the result"
        )
        #expect(
            try Self.isRefused(Self.header(total: 1, [("A", 1)])) { assembler in
                try assembler.add(rows: Self.rows(1...1))
                try assembler.add(sections: Self.sections([("B", Int(Limits.objectIDMax))]))
            },
            "a section too many"
        )
    }

    /// False counts are checked before memory is reserved for them.
    @Test func hugeCountsAreRefused() throws {
        let most = 1 << 62 - 1
        var head = Self.header(total: most, [("A", most)], of: most)
        #expect(try Self.isRefused(head) { try $0.add(rows: Self.rows(1...3)) })
        #expect(try Self.isRefused(head) { try $0.add(sections: Self.sections([("B", 1)])) })
        head.header.window.start.row = most
        #expect(try Self.isRefused(head) { _ in })
    }
}
