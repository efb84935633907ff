import NestModel

/// Mutations that are applied together or not at all.
package struct TransactionMessage: Message, Equatable {
    package static let type = MessageType.transaction
    package var transaction: WriteTransaction

    package init(_ transaction: WriteTransaction) {
        self.transaction = transaction
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        let key = try reader.key()
        self.transaction = try reader.transaction(key: key)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(key: self.transaction.key)
        writer.write(transactionBody: self.transaction)
    }
}

/// The reply to a write, sent when it is durable.
package struct ReceiptMessage: Message, Equatable {
    package static let type = MessageType.receipt
    package var receipt: Receipt

    package init(_ receipt: Receipt) {
        self.receipt = receipt
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        let revision = try reader.revision("revision")
        let flags = try reader.byte("flags")
        let results = try reader.runs()
        var receipt = Receipt(
            revision: revision,
            isChanged: flags & 1 != 0,
            isReplayed: flags & 2 != 0,
            results: results,
            name: try reader.string("name", max: Limits.nameBytesMax),
            conflicts: reader.isAtEnd ? UndoConflicts() : try reader.undoConflicts()
        )
        receipt.conflicts.setUsers(try reader.users(count: receipt.conflicts.listed.count))
        self.receipt = receipt
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(revision: self.receipt.revision)
        writer.write(byte: (self.receipt.isChanged ? 1 : 0) | (self.receipt.isReplayed ? 2 : 0))
        writer.write(runs: self.receipt.results)
        writer.write(string: self.receipt.name)
        guard !self.receipt.conflicts.isEmpty else { return }
        writer.write(undoConflicts: self.receipt.conflicts)
        writer.write(users: self.receipt.conflicts.listed.map(\.user))
    }
}
