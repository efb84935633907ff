import NestModel

/// Requests the canonical predicate of a text, so that a client in any language needs no parser.
package struct ParsePredicate: Query, Equatable {
    package typealias Answer = PredicateMessage
    package static let type = MessageType.parsePredicate
    package var entity: EntityNumber
    package var text: String
    /// What `now` means, in microseconds since 1970-01-01 UTC. 0: the server's time.
    package var now: Int64
    /// The zone of times that have none, by its name in the IANA time zone database. Empty: UTC.
    package var zone: String

    package init(_ text: String, of entity: EntityNumber, now: Int64 = 0, zone: String = "") {
        self.entity = entity
        self.text = text
        self.now = now
        self.zone = zone
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.entity = try reader.entityNumber("entity")
        self.text = try reader.string("predicate text", max: Limits.predicateTextBytesMax)
        self.now = try reader.integer(Int64.self, "now")
        self.zone = try reader.string("zone", max: Limits.zoneNameBytesMax)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(count: Int(self.entity.rawValue))
        writer.write(string: self.text)
        writer.write(integer: self.now)
        writer.write(string: self.zone)
    }

    /// Reads the text. `time`: the server's, in microseconds since 1970-01-01 UTC.
    package func predicate(in model: ManagedObjectModel, time: Int64) throws(NestError) -> FetchPredicate {
        guard let entity = model.entity(self.entity) else {
            throw NestError(.unknownEntity, "the model has no entity \(self.entity.rawValue)")
        }
        guard DateReading.nowRange.contains(self.now) else {
            throw NestError(.invalid, "now must be a moment of the years 0001 to 9999, in microseconds since 1970")
        }
        guard let dates = DateReading(zone: self.zone, now: self.now == 0 ? time : self.now) else {
            throw NestError(.invalid, "there is no time zone '\(self.zone)': write a name like Europe/Berlin")
        }
        do throws(PredicateSyntaxError) {
            return try FetchPredicate(self.text, of: entity, in: model, dates: dates)
        } catch {
            throw NestError(.invalidPredicate, error.description, column: error.column)
        }
    }
}

package struct PredicateMessage: Message, Equatable {
    package static let type = MessageType.predicate
    package var predicate: FetchPredicate

    package init(_ predicate: FetchPredicate) {
        self.predicate = predicate
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.predicate = try reader.predicate()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(predicate: self.predicate)
    }
}
