import NestProtocol
import NestModel
import NIOCore

/// The byte forms of the model, and the text of predicates.
enum ModelTargets {
    private static let model = ManagedObjectModel.nestedList
    private static let item = Self.model.entities[0]

    /// Reads with `read`, writes what was read, and expects that to be read and written as the same bytes.
    private static func roundTrip<Value>(
        _ bytes: [UInt8],
        _ read: (inout ByteReader) throws(DecodingFailure) -> Value,
        _ write: (Value, inout ByteWriter) -> Void
    ) throws(FuzzFailure) -> Value? {
        func value(of bytes: [UInt8]) -> Value? {
            try? ByteReader.read(bytes) { (reader) throws(DecodingFailure) in try read(&reader) }
        }
        func written(_ value: Value) -> [UInt8] {
            var writer = ByteWriter()
            write(value, &writer)
            return writer.bytes
        }
        guard let first = value(of: bytes) else { return nil }
        let once = written(first)
        guard let second = value(of: once) else { throw FuzzFailure("written so that it cannot be read") }
        try FuzzFailure.unless(written(second) == once, "not written the same twice")
        return first
    }

    static func value(_ bytes: [UInt8]) throws(FuzzFailure) {
        _ = try self.roundTrip(bytes) { (reader) throws(DecodingFailure) in
            try reader.value("value")
        } _: {
            $1.write(value: $0)
        }
    }

    static func transaction(_ bytes: [UInt8]) throws(FuzzFailure) {
        _ = try self.roundTrip(bytes) { (reader) throws(DecodingFailure) in
            try reader.transaction(key: nil)
        } _: {
            $1.write(transactionBody: $0)
        }
    }

    /// What a request is for a model is the same said again.
    static func fetch(_ bytes: [UInt8]) throws(FuzzFailure) {
        let read = try self.roundTrip(bytes) { (reader) throws(DecodingFailure) in
            try reader.fetchRequest()
        } _: {
            $1.write(fetchRequest: $0)
        }
        guard let request = read else { return }
        let canonical = request.canonical(in: self.model)
        try FuzzFailure.unless(canonical.canonical(in: self.model) == canonical, "the canonical form has another")
        guard request.predicate.faults(for: self.item, in: self.model).isEmpty else { return }
        try self.sayAgain(canonical.predicate)
    }

    static func predicate(_ bytes: [UInt8]) throws(FuzzFailure) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let predicate = try? FetchPredicate(text, of: self.item, in: self.model) else { return }
        let faults = predicate.faults(for: self.item, in: self.model)
        try FuzzFailure.unless(faults.isEmpty, "a predicate that is read and not admitted: \(faults)")
        try self.sayAgain(predicate)
    }

    /// A predicate as text is read as the same predicate.
    private static func sayAgain(_ predicate: FetchPredicate) throws(FuzzFailure) {
        let text = predicate.text(of: self.item, in: self.model)
        let again: FetchPredicate
        do throws(PredicateSyntaxError) {
            again = try FetchPredicate(text, of: self.item, in: self.model)
        } catch {
            throw FuzzFailure("said so that it cannot be read: \(text): \(error)")
        }
        try FuzzFailure.unless(again == predicate, "not read as what was said: \(text)")
    }

    /// The first byte says how many values a row has.
    static func chunk(_ bytes: [UInt8]) throws(FuzzFailure) {
        guard let first = bytes.first else { return }
        let valueCount = Int(first & 7)
        guard let unpacked = try? SubtreeChunk(bytes: Array(bytes.dropFirst())).unpacked() else { return }
        try FuzzFailure.unless(unpacked.count <= Limits.chunkUnpackedBytesMax, "more was unpacked than may be")
        var reader = SubtreeChunkReader(valueCount: valueCount)
        guard let rows = try? reader.rows(of: unpacked), !rows.isEmpty else { return }
        var writer = SubtreeChunkWriter(valueCount: valueCount, hasIDs: rows[0].id != nil)
        for row in rows { writer.append(row) }
        var second = SubtreeChunkReader(valueCount: valueCount)
        guard let again = try? second.rows(of: writer.take()) else {
            throw FuzzFailure("rows are written so that they cannot be read")
        }
        try FuzzFailure.unless(again == rows, "rows are not read as what was written")
    }
}
