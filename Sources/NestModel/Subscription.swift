/// A state that a client holds from an earlier connection.
public struct ResumePoint: Hashable, Sendable {
    public var historyID: Identifier128
    public var revision: Revision

    public init(historyID: Identifier128, revision: Revision) {
        self.historyID = historyID
        self.revision = revision
    }
}

/// What a subscription is sent first.
public enum FirstState: Hashable, Sendable {
    /// A snapshot follows.
    case snapshot
    /// One diff from the revision the client resumed at.
    case difference
    /// What the client holds is still exact, at this revision.
    case current(Revision)
    /// The connection has the same view already: its frames serve both.
    case alreadySubscribed
}

/// Why a snapshot is sent.
public enum SnapshotReason: UInt8, Sendable, CaseIterable, CustomStringConvertible {
    /// The first state of a subscription, or a fetch.
    case first = 0
    /// The change touched so much of the result that the whole is smaller.
    case largeChange = 1
    /// The client fell so far behind that the server no longer has the difference.
    case tooFarBehind = 2

    public var description: String {
        switch self {
        case .first: "first"
        case .largeChange: "large change"
        case .tooFarBehind: "too far behind"
        }
    }
}

/// What a snapshot says before its rows.
public struct SnapshotHeader: Hashable, Sendable {
    public struct Section: Hashable, Sendable {
        public var key: AttributeValue
        public var rowCount: Int

        public init(key: AttributeValue, rowCount: Int) {
            self.key = key
            self.rowCount = rowCount
        }
    }

    public var reason: SnapshotReason
    public var revision: Revision
    public var total: Int
    public var digest: UInt64
    public var sections: [Section]

    public init(reason: SnapshotReason, revision: Revision, total: Int, digest: UInt64, sections: [Section]) {
        self.reason = reason
        self.revision = revision
        self.total = total
        self.digest = digest
        self.sections = sections
    }
}

extension ByteWriter {
    public mutating func write(snapshotHeader header: SnapshotHeader) {
        self.write(byte: header.reason.rawValue)
        self.write(revision: header.revision)
        self.write(count: header.total)
        self.write(integer: header.digest)
        self.write(count: header.sections.count)
        for section in header.sections {
            self.write(value: section.key)
            self.write(count: section.rowCount)
        }
    }
}

extension ByteReader {
    public mutating func snapshotHeader() throws(DecodingFailure) -> SnapshotHeader {
        guard let reason = SnapshotReason(rawValue: try self.byte("reason")) else {
            throw DecodingFailure(.unsupported, "reason")
        }
        var header = SnapshotHeader(
            reason: reason,
            revision: try self.revision("revision"),
            total: try self.index("total"),
            digest: try self.integer(UInt64.self, "digest"),
            sections: []
        )
        var total = 0
        for _ in 0..<(try self.count("sections", bytesEach: 2)) {
            let section = SnapshotHeader.Section(
                key: try self.value("section key"),
                rowCount: try self.index("section rows")
            )
            let (sum, overflow) = total.addingReportingOverflow(section.rowCount)
            guard !overflow else { throw DecodingFailure(.outOfRange, "section rows") }
            total = sum
            header.sections.append(section)
        }
        guard total == header.total else { throw DecodingFailure(.invalidValue, "total") }
        return header
    }

    /// A count, then rows.
    public mutating func rows(valueCount: Int) throws(DecodingFailure) -> [Row] {
        var rows: [Row] = []
        let count = try self.count("rows", bytesEach: 1 + valueCount)
        rows.reserveCapacity(count)
        for _ in 0..<count { rows.append(try self.row(valueCount: valueCount)) }
        return rows
    }
}
