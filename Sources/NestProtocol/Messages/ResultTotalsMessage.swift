import NestModel

/// The totals of a view, or of the answer to a fetch.
package struct ResultTotalsMessage: Message, Equatable {
    package static let type = MessageType.resultTotals

    package var totals: TotalsUpdate
    /// Whether the next frame of the view is the DIFF or the SNAPSHOT of the state that they belong to; otherwise they
    /// are of the state that the client holds.
    package var isBeforeRows: Bool

    package init(_ totals: TotalsUpdate, isBeforeRows: Bool) {
        self.totals = totals
        self.isBeforeRows = isBeforeRows
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        let revision = try reader.revision("revision")
        switch try reader.byte("rows follow") {
        case 0: self.isBeforeRows = false
        case 1: self.isBeforeRows = true
        default: throw DecodingFailure(.unsupported, "rows follow")
        }
        let values = try reader.totals()
        self.totals = TotalsUpdate(revision: revision, values: values)
        for _ in 0..<(try reader.count("sections with totals", bytesEach: 2)) {
            let index = try reader.index("section of totals")
            guard index > self.totals.sections.last?.index ?? -1 else {
                throw DecodingFailure(.invalidValue, "section of totals")
            }
            let values = try reader.totals()
            guard values.count == self.totals.values.count else {
                throw DecodingFailure(.invalidValue, "totals of a section")
            }
            self.totals.sections.append(TotalsUpdate.Section(index: index, values: values))
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(revision: self.totals.revision)
        writer.write(byte: self.isBeforeRows ? 1 : 0)
        writer.write(totals: self.totals.values)
        writer.write(count: self.totals.sections.count)
        for section in self.totals.sections {
            writer.write(count: section.index)
            writer.write(totals: section.values)
        }
    }
}

extension ByteReader {
    fileprivate mutating func totals() throws(DecodingFailure) -> [AttributeValue] {
        var values: [AttributeValue] = []
        for _ in 0..<(try self.count("totals", max: Limits.totalsMax)) { values.append(try self.value("total")) }
        return values
    }
}

extension ByteWriter {
    fileprivate mutating func write(totals: [AttributeValue]) {
        self.write(count: totals.count)
        for value in totals { self.write(value: value) }
    }
}
