import NestModel
import NestStore
import NestProtocol

/// The hash that the engine stores with an idempotency key. The journal keeps it, so its value must never change.
///
/// It covers the canonical encoding, not the bytes that arrived: the wire format allows several encodings of one
/// request, and a retry may use another one.
enum RequestHash {
    /// A transaction without a key has the hash 0: no retry can name it.
    static func of(_ transaction: WriteTransaction) -> UInt64 {
        guard transaction.key != nil else { return 0 }
        var body = ByteWriter()
        body.write(transactionBody: transaction)
        return fnv1a(body.bytes)
    }

    /// The kinds of requests that revert earlier writes. The raw value is part of the hash.
    enum Kind: UInt8 {
        case undo = 1
        case redo = 2
        case revert = 3
    }

    static func of(_ kind: Kind, _ options: UndoOptions, _ revision: Revision?) -> UInt64 {
        var bytes = ByteWriter()
        bytes.write(byte: kind.rawValue)
        bytes.write(byte: options.policy.rawValue)
        bytes.write(byte: options.rehomes ? 1 : 0)
        bytes.write(revision: revision ?? Revision(0))
        return fnv1a(bytes.bytes)
    }

    /// Imports differ by their placement, name, properties and rows.
    static func of(_ staged: StagedSubtree) -> UInt64 {
        let request = staged.request
        var body = ByteWriter()
        body.write(string: request.name ?? "")
        body.write(varint: UInt64(request.entity.rawValue))
        body.write(placement: request.placement)
        body.write(count: request.properties.count)
        for property in request.properties { body.write(varint: UInt64(property.rawValue)) }
        body.write(count: staged.rowCount)
        body.write(integer: staged.checksum)
        return fnv1a(body.bytes)
    }
}

/// Requests with their hash. Call these where a request is decoded.
extension EngineRequest {
    package static func transaction(_ transaction: WriteTransaction) -> Self {
        .transaction(transaction, requestHash: RequestHash.of(transaction))
    }

    package static func undo(
        key: Identifier128?,
        _ options: UndoOptions = UndoOptions(),
        expected: Revision? = nil
    ) -> Self {
        .undo(key: key, options, expected: expected, requestHash: RequestHash.of(.undo, options, expected))
    }

    package static func redo(
        key: Identifier128?,
        _ options: UndoOptions = UndoOptions(),
        expected: Revision? = nil
    ) -> Self {
        .redo(key: key, options, expected: expected, requestHash: RequestHash.of(.redo, options, expected))
    }

    package static func revert(
        key: Identifier128?,
        _ options: UndoOptions,
        _ revision: Revision,
        ofAnyone: Bool
    ) -> Self {
        let hash = RequestHash.of(.revert, options, revision)
        return .revert(key: key, options, revision, ofAnyone: ofAnyone, requestHash: hash)
    }

    package static func importSubtree(_ staged: StagedSubtree) -> Self {
        .importSubtree(staged, requestHash: RequestHash.of(staged))
    }
}
