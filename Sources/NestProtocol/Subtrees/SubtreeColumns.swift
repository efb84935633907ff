import NestModel

/// The rows of a chunk, column by column, as they are in its bytes: texts and data are not copied, and no row is made.
package struct SubtreeColumns: Sendable {
    /// A checked value. Of texts and data, their place in the chunk.
    package enum Cell: Sendable {
        case null
        case boolean(Bool)
        case integer(Int64)
        case double(Double)
        case date(Int64)
        case uuid(Identifier128)
        case reference(ObjectID)
        case text(start: Int, count: Int)
        case data(start: Int, count: Int)
    }

    /// The bytes of the chunk.
    package let chunk: [UInt8]
    package let rowCount: Int
    package let valueCount: Int
    package internal(set) var depths: [Int] = []
    /// Empty if the rows have no ids.
    package private(set) var ids: [ObjectID] = []
    /// One column after the other.
    private var cells: [Cell] = []

    /// Precondition: `chunk` has enough bytes for so many rows and values.
    init(_ chunk: [UInt8], rowCount: Int, valueCount: Int) {
        self.chunk = chunk
        self.rowCount = rowCount
        self.valueCount = valueCount
        self.depths.reserveCapacity(rowCount)
        self.cells.reserveCapacity(rowCount * valueCount)
    }

    /// A chunk without rows.
    package init() { self.init([], rowCount: 0, valueCount: 0) }

    package subscript(row: Int, column: Int) -> Cell { self.cells[column * self.rowCount + row] }

    package func value(_ row: Int, _ column: Int) -> AttributeValue {
        switch self[row, column] {
        case .null: .null
        case .boolean(let value): .boolean(value)
        case .integer(let value): .integer(value)
        case .double(let value): .double(value)
        case .date(let value): .date(value)
        case .uuid(let value): .uuid(value)
        case .reference(let value): .reference(value)
        case .text(let start, let count):
            .string(
                self.chunk.withUnsafeBytes {
                    String(decoding: UnsafeRawBufferPointer(rebasing: $0[start..<start + count]), as: UTF8.self)
                }
            )
        case .data(let start, let count): .data(Array(self.chunk[start..<start + count]))
        }
    }

    package var rows: [SubtreeRow] {
        (0..<self.rowCount).map { row in
            SubtreeRow(
                depth: self.depths[row],
                id: self.ids.isEmpty ? nil : self.ids[row],
                values: (0..<self.valueCount).map { self.value(row, $0) }
            )
        }
    }

    // MARK: Decoding

    mutating func readIDs(_ reader: inout ByteReader) throws(DecodingFailure) {
        self.ids.reserveCapacity(self.rowCount)
        var last: Int64 = 0
        for _ in 0..<self.rowCount {
            let (id, overflow) = last.addingReportingOverflow(try reader.zigzag("id"))
            guard !overflow, id > 0, id <= Limits.objectIDMax else { throw DecodingFailure(.outOfRange, "id") }
            self.ids.append(ObjectID(id))
            last = id
        }
    }

    mutating func readColumn(_ reader: inout ByteReader) throws(DecodingFailure) {
        let first = self.cells.count
        for _ in 0..<self.rowCount {
            switch try reader.valueHead("value") {
            case .whole(let value): self.cells.append(Cell(value))
            case .string(let count): self.cells.append(.text(start: 0, count: count))
            case .data(let count): self.cells.append(.data(start: 0, count: count))
            }
        }
        // The bytes of texts and data follow in the same order.
        for index in first..<self.cells.count {
            switch self.cells[index] {
            case .text(_, let count):
                let start = self.chunk.count - reader.remaining
                guard ByteReader.isText(try reader.raw(count: count, "value")) else {
                    throw DecodingFailure(.invalidText, "value")
                }
                self.cells[index] = .text(start: start, count: count)
            case .data(_, let count):
                let start = self.chunk.count - reader.remaining
                _ = try reader.raw(count: count, "value")
                self.cells[index] = .data(start: start, count: count)
            default: break
            }
        }
    }
}

extension SubtreeColumns.Cell {
    /// Precondition: neither a text nor data, which have heads of their own.
    fileprivate init(_ value: AttributeValue) {
        switch value {
        case .null: self = .null
        case .boolean(let value): self = .boolean(value)
        case .integer(let value): self = .integer(value)
        case .double(let value): self = .double(value)
        case .date(let value): self = .date(value)
        case .uuid(let value): self = .uuid(value)
        case .reference(let value): self = .reference(value)
        case .string, .data: preconditionFailure("the bytes of texts and data follow their heads")
        }
    }
}

extension ByteWriter {
    /// Writes a value in its shortest form. `chunk`: the bytes of its chunk.
    package mutating func write(cell: SubtreeColumns.Cell, of chunk: UnsafeRawBufferPointer) {
        switch cell {
        case .null: self.write(byte: ValueTag.null)
        case .boolean(let value): self.write(byte: value ? ValueTag.yes : ValueTag.no)
        case .integer(let value): self.write(integerValue: value)
        case .double(let value): self.write(value: .double(value))
        case .date(let value): self.write(dateValue: value)
        case .uuid(let value): self.write(value: .uuid(value))
        case .reference(let value): self.write(value: .reference(value))
        case .text(let start, let count):
            self.write(textValue: UnsafeRawBufferPointer(rebasing: chunk[start..<start + count]))
        case .data(let start, let count):
            self.write(byte: ValueTag.data)
            self.write(count: count)
            self.write(raw: UnsafeRawBufferPointer(rebasing: chunk[start..<start + count]))
        }
    }
}
