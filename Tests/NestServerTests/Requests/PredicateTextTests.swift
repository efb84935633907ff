import NestClient
import NestFraming
import NestModel
import NestProtocol
import NestServer
import NestServerTestSupport
import NestStore
import NestTestSupport
import Testing

extension SocketTests {
    /// PARSE_PREDICATE over a real socket, with the model and the texts of `predicates.json`.
    struct PredicateTexts {
        private let vectors: JSONValue
        private let model: ManagedObjectModel

        init() throws {
            let vectors = try Vectors.file("predicates")
            self.vectors = vectors
            self.model = try ByteReader.read(Hex.bytes(vectors["model"].text)) { (reader) throws(DecodingFailure) in
                try reader.model()
            }
        }

        private func entity(_ name: String) throws -> EntityNumber {
            try #require(self.model.entity(named: name)).number
        }

        @Test func textsOfTheVectorsGiveTheirBytes() async throws {
            let cases = try self.vectors["cases"].elements
            try await withServer {
                $0.store.model = self.model
            } _: { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                for vector in cases {
                    let request = ParsePredicate(
                        try vector["text"].text,
                        of: try self.entity(vector["entity"].text),
                        now: try vector.optional("now")?.whole ?? 0,
                        zone: try vector.optional("zone")?.text ?? ""
                    )
                    let id = try connection.request(request)
                    let answer = try connection.expect(PredicateMessage.self, id: id)
                    #expect(Hex.text(answer.body) == (try vector["bytes"].text), "\(vector)")
                }
                #expect(cases.count > 300)
            }
        }

        @Test func faultsOfTheVectorsHaveTheirTextAndColumn() async throws {
            let faults = try self.vectors["faults"].elements
            let person = try self.entity("Person")
            try await withServer {
                $0.store.model = self.model
            } _: { port, _ in
                try await NestClient.withClient(ClientConfiguration(port: port, session: .fresh)) { client in
                    // A NUL cannot be sent.
                    for fault in faults where !(try fault["text"].text.utf8.contains(0)) {
                        let (text, column) = (try fault["text"].text, try fault["column"].int)
                        let message = try fault["message"].text
                        let error = await refusal { _ = try await client.predicate(text, of: person) }
                        #expect(error?.code == .invalidPredicate, "\(text)")
                        #expect(error?.column == column, "\(text)")
                        #expect(error?.message == "column \(column): \(message)", "\(text)")
                    }
                }
            }
        }

        /// Found by a review: the beginning of the day after the last moment that an integer can hold is no moment.
        @Test func aNowOutsideTheYearsOfTextIsRefused() async throws {
            let zones = ["", "Etc/GMT+12", "Pacific/Kiritimati"]
            let item = EntityNumber(1)
            let (first, last) = (DateReading.nowRange.lowerBound, DateReading.nowRange.upperBound)
            try await withServer { port, _ in
                try await NestClient.withClient(ClientConfiguration(port: port, session: .fresh)) { client in
                    for word in ["now", "today", "yesterday", "tomorrow"] {
                        for zone in zones {
                            for now in [.min, .min + 1, first - 1, last + 1, .max - 1, .max] {
                                let error = await refusal {
                                    _ = try await client.predicate("extra == \(word)", of: item, zone: zone, now: now)
                                }
                                #expect(error?.code == .invalid, "\(word) \(zone) \(now)")
                            }
                            for now in [first, last] {
                                let error = await refusal {
                                    _ = try await client.predicate("title == \(word)", of: item, zone: zone, now: now)
                                }
                                #expect(error?.code == .invalidPredicate, "\(word) \(zone) \(now)")
                            }
                        }
                    }
                }
            }
        }

        @Test func aRequestWithAnUnknownZoneOrEntityIsRefused() async throws {
            try await withServer { port, _ in
                try await NestClient.withClient(ClientConfiguration(port: port, session: .fresh)) { client in
                    let item = EntityNumber(1)
                    let zone = await refusal { _ = try await client.predicate("", of: item, zone: "Mars/Phobos") }
                    #expect(zone?.code == .invalid && zone?.column == nil)
                    #expect(zone?.message == "there is no time zone 'Mars/Phobos': write a name like Europe/Berlin")
                    let entity = await refusal { _ = try await client.predicate("", of: EntityNumber(99)) }
                    #expect(entity?.code == .unknownEntity)
                    let everything = try await client.predicate("", of: item)
                    #expect(everything == .everything)
                }
            }
        }

        /// `now` is the server's time if the request names none.
        @Test func wordsForMomentsMeanTheServersTimeOrTheRequests() async throws {
            var draft = EntityDraft(name: "Note")
            draft.attributes = [.named("due", .date)]
            let model = try ModelDraft(entities: [draft]).compile()
            try await withServer {
                $0.store.model = model
            } _: { port, _ in
                try await NestClient.withClient(ClientConfiguration(port: port, session: .fresh)) { client in
                    let note = try #require(model.entity(named: "Note")).number
                    func moment(_ now: Int64?) async throws -> Int64 {
                        let predicate = try await client.predicate("due < now", of: note, now: now)
                        guard case .date(let moment)? = predicate.comparisons.first?.values.first else { return 0 }
                        return moment
                    }
                    #expect(try await moment(1_774_785_600_000_000) == 1_774_785_600_000_000)
                    #expect(try await moment(-1) == -1)
                    let first = try await moment(nil)
                    // After 2024.
                    #expect(first > 1_704_067_200_000_000)
                    #expect(try await moment(nil) >= first)
                }
            }
        }

        /// A reader that is confined to a sub-tree needs predicates too. The answer depends on the model only.
        @Test func aConfinedReaderMayAsk() async throws {
            try await withTokens { port, client, _ in
                let subtree = AccessConfinement(
                    root: ObjectID(1),
                    entity: EntityNumber(1),
                    relationship: PropertyNumber(6)
                )
                let grant = TokenGrant(name: "guest", role: .read, confinement: subtree)
                try await withGrant(grant, port, client) { guest, _ in
                    let predicate = try await guest.predicate("done == NO", of: EntityNumber(1))
                    #expect(try await client.predicate("NO == done", of: EntityNumber(1)) == predicate)
                    #expect(predicate.comparisons.count == 1)
                }
            }
        }

        /// Long texts count as several control frames, so that a flood of them ends the connection.
        @Test func aFloodOfLongTextsIsEnded() async throws {
            try await withServer {
                $0.controlFrames = TokenBucket.Rate(perSecond: 1, burst: 7_000)
            } _: { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                let text = String(repeating: " ", count: Limits.predicateTextBytesMax)
                // Three times 2,049 control frames.
                for _ in 0..<3 {
                    let id = try connection.request(ParsePredicate(text, of: EntityNumber(1)))
                    #expect(try connection.expect(PredicateMessage.self, id: id).predicate == .everything)
                }
                _ = try? connection.request(ParsePredicate(text, of: EntityNumber(1)))
                let goAway = try GoAway(body: try #require(try connection.frames(until: .goAway).last).body)
                #expect(goAway.code == .limitExceeded)
            }
        }

        /// The message of a wrong name compares it with all names of the entity, so it counts more than its bytes.
        @Test func aFloodOfWrongNamesIsEnded() async throws {
            try await withServer {
                $0.controlFrames = TokenBucket.Rate(perSecond: 1, burst: 1_000)
            } _: { port, _ in
                let (connection, _) = try ServerRawConnection.ready(port: port)
                for _ in 0..<100 { _ = try? connection.request(ParsePredicate("nmae == 1", of: EntityNumber(1))) }
                let frames = try connection.frames(until: .goAway)
                #expect(try GoAway(body: try #require(frames.last).body).code == .limitExceeded)
                #expect((10..<16).contains(frames.count - 1))
            }
        }
    }
}
