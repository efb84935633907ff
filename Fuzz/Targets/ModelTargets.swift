import NestProtocol
import NestModel
import NIOCore

/// The encodings of model values, and the text of predicates.
enum ModelTargets {
    private static let model = ManagedObjectModel.nestedList
    private static let item = Self.model.entities[0]

    /// Decodes the bytes with `read` and encodes the value with `write`. Checks that the encoded bytes can be decoded,
    /// and are encoded as the same bytes again. Returns `nil` if the bytes are invalid.
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
        guard let second = value(of: once) else { throw FuzzFailure("the encoded value cannot be decoded") }
        try FuzzFailure.unless(written(second) == once, "decoding and encoding again changes the bytes")
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

    /// Checks that a canonical request is its own canonical form, and that its predicate's text is parsed as the same
    /// predicate.
    static func fetch(_ bytes: [UInt8]) throws(FuzzFailure) {
        let read = try self.roundTrip(bytes) { (reader) throws(DecodingFailure) in
            try reader.fetchRequest()
        } _: {
            $1.write(fetchRequest: $0)
        }
        guard let request = read else { return }
        let canonical = request.canonical(in: self.model)
        try FuzzFailure.unless(canonical.canonical(in: self.model) == canonical, "the canonical form is not stable")
        guard request.predicate.faults(for: self.item, in: self.model).isEmpty else { return }
        try self.checkTextRoundTrip(canonical.predicate)
    }

    static func predicate(_ bytes: [UInt8]) throws(FuzzFailure) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let predicate = try? FetchPredicate(text, of: self.item, in: self.model) else { return }
        let faults = predicate.faults(for: self.item, in: self.model)
        try FuzzFailure.unless(faults.isEmpty, "a parsed predicate is not valid: \(faults)")
        try self.checkTextRoundTrip(predicate)
    }

    /// Checks that the text of a predicate is parsed as the same predicate.
    private static func checkTextRoundTrip(_ predicate: FetchPredicate) throws(FuzzFailure) {
        let text = predicate.text(of: self.item, in: self.model)
        let again: FetchPredicate
        do throws(PredicateSyntaxError) {
            again = try FetchPredicate(text, of: self.item, in: self.model)
        } catch {
            throw FuzzFailure("a predicate's text cannot be parsed: \(text): \(error)")
        }
        try FuzzFailure.unless(again == predicate, "a predicate's text is parsed as another predicate: \(text)")
    }

    /// The first byte selects the number of values in a row.
    static func chunk(_ bytes: [UInt8]) throws(FuzzFailure) {
        guard let first = bytes.first else { return }
        let valueCount = Int(first & 7)
        guard let unpacked = try? SubtreeChunk(bytes: Array(bytes.dropFirst())).unpacked() else { return }
        try FuzzFailure.unless(unpacked.count <= Limits.chunkUnpackedBytesMax, "unpacked more bytes than the limit")
        var reader = SubtreeChunkReader(valueCount: valueCount)
        guard let rows = try? reader.rows(of: unpacked), !rows.isEmpty else { return }
        var writer = SubtreeChunkWriter(valueCount: valueCount, hasIDs: rows[0].id != nil)
        for row in rows { writer.append(row) }
        var second = SubtreeChunkReader(valueCount: valueCount)
        guard let again = try? second.rows(of: writer.take()) else {
            throw FuzzFailure("encoded rows cannot be decoded")
        }
        try FuzzFailure.unless(again == rows, "decoded rows differ from the encoded rows")
    }
}
