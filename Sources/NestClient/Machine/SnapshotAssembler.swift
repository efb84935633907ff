import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Assembles a snapshot from its header and from the frames of sections and rows that follow.
package struct SnapshotAssembler: Sendable {
    package private(set) var header: SnapshotHeader
    private let sectionCount: Int
    private let projection: [PropertyNumber]
    private let totals: TotalsUpdate?
    private var sections: [ResultsSection] = []
    /// The section that the next row belongs to.
    private var section = 0
    private var rowCount = 0
    package private(set) var byteCount = 0

    /// `totals`: those that came before the snapshot.
    package init(_ message: SnapshotMessage, projection: [PropertyNumber], totals: TotalsUpdate? = nil) {
        self.header = message.header
        self.sectionCount = message.sectionCount
        self.projection = projection
        self.totals = totals
    }

    package mutating func add(sections body: ByteBuffer) throws(WireError) {
        self.byteCount += body.readableBytes
        let message = try SnapshotSections(body: body)
        guard self.rowCount == 0 else { throw .malformed(DecodingFailure(.invalidValue, "snapshot sections")) }
        do throws(DecodingFailure) {
            try message.read(into: &self.header, sectionCount: self.sectionCount)
        } catch {
            throw .malformed(error)
        }
    }

    package mutating func add(rows body: ByteBuffer) throws(WireError) {
        self.byteCount += body.readableBytes
        let rows: [Row]
        let message = try SnapshotRows(body: body)
        do throws(DecodingFailure) {
            rows = try message.rows(valueCount: self.projection.count)
        } catch {
            throw .malformed(error)
        }
        var next = rows[...]
        while !next.isEmpty {
            if self.sections.last.map({ $0.rows.count == self.header.sections[self.section].rowCount }) ?? true {
                try self.beginSection()
                continue
            }
            let missing = self.header.sections[self.section].rowCount - self.sections[self.section].rows.count
            self.sections[self.section].rows.append(contentsOf: next.prefix(missing))
            self.rowCount += min(missing, next.count)
            next = next.dropFirst(missing)
        }
    }

    private mutating func beginSection() throws(WireError) {
        guard self.sections.count < self.header.sections.count else {
            throw .malformed(DecodingFailure(.invalidValue, "snapshot rows"))
        }
        self.section = self.sections.count
        self.sections.append(ResultsSection(key: self.header.sections[self.section].key, rows: []))
    }

    /// Returns the answer to a fetch, after the last frame.
    func reply() throws(WireError) -> Reply { .snapshot(try self.finish(hasWindow: true), total: self.header.total) }

    /// Returns the snapshot, after the last frame.
    package func finish(hasWindow: Bool = false) throws(WireError) -> SectionedSnapshot {
        var sections = self.sections
        if sections.isEmpty { sections = self.header.sections.map { ResultsSection(key: $0.key, rows: []) } }
        guard self.header.sections.count == self.sectionCount, sections.count == self.sectionCount,
            self.rowCount == self.header.rowCount
        else {
            throw .malformed(DecodingFailure(.truncated, "snapshot rows"))
        }
        var snapshot = SectionedSnapshot(
            revision: self.header.revision,
            projection: self.projection,
            sections: sections,
            window: hasWindow ? self.header.window : nil
        )
        if let totals, totals.revision != snapshot.revision || !snapshot.apply(totals) {
            throw .malformed(DecodingFailure(.invalidValue, "totals of a snapshot"))
        }
        return snapshot
    }
}
