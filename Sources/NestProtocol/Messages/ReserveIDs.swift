import NestModel

/// Reserves object ids for the session, so that a client knows the id of an object before the server has inserted it.
package struct ReserveIDs: Query, Equatable {
    package typealias Answer = ReservedIDsMessage
    package static let type = MessageType.reserve
    /// 1 to `Limits.reservedIDsPerRequestMax`.
    package var count: Int

    package init(count: Int) {
        self.count = count
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.count = try Self.count(from: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(count: self.count)
    }

    fileprivate static func count(from reader: inout ByteReader) throws(DecodingFailure) -> Int {
        let count = try reader.index("count")
        guard count <= Limits.reservedIDsPerRequestMax else { throw DecodingFailure(.limit, "count") }
        guard count > 0 else { throw DecodingFailure(.outOfRange, "count") }
        return count
    }
}

/// The reply: as many ids as were asked for, from `first` on.
package struct ReservedIDsMessage: Message, Equatable {
    package static let type = MessageType.reserved
    package var first: ObjectID
    package var count: Int

    package init(first: ObjectID, count: Int) {
        self.first = first
        self.count = count
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.first = try reader.objectID("first id")
        self.count = try ReserveIDs.count(from: &reader)
        guard Int64(self.count) <= Limits.objectIDMax - self.first.rawValue + 1 else {
            throw DecodingFailure(.outOfRange, "count")
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(objectID: self.first)
        writer.write(count: self.count)
    }
}
