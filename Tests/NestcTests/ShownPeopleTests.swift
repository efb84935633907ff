import NestClient
import NestDocuments
import NestModel
import NestTestSupport
import Testing

@testable import nestc

/// Other clients in the header and beside rows, at every width.
@Suite struct ShownPeopleTests {
    private static func client(_ number: UInt64, _ user: UserLabel?, at object: Int64? = nil) -> PresentClient {
        // One field, the object; or none.
        let place: [UInt8] = object.map { [1, 1, 1, UInt8($0)] } ?? [0]
        return PresentClient(PresenceState(number: number, sessionNumber: number, user: user, bytes: place))
    }

    private static let ann = Self.client(1, UserLabel("Ann"), at: 7)
    private static let claimed = Self.client(2, UserLabel("Bob", isClaimed: true), at: 7)
    private static let hostile = Self.client(3, UserLabel("\u{1b}[31m\u{202e}evil\n日本語日本語日本語"), at: 8)
    private static let unnamed = Self.client(4, nil)

    private static func people(_ clients: PresentClient...) -> ShownPeople {
        ShownPeople(PresentClients(clients: clients, isLive: true))
    }

    @Test func namesAreLabelsAndClaimsAreMarked() {
        #expect(Self.people().headerForms == [])
        #expect(Self.people(Self.ann).headerForms == ["with Ann", "with 1"])
        let all = Self.people(Self.ann, Self.claimed, Self.unnamed, Self.hostile)
        #expect(all.headerForms == ["with Ann, ~Bob, s4 +1", "with 4"])
        #expect(Self.people(Self.ann, Self.unnamed).sentence == "present: Ann at #7, s4")
        #expect(Self.people().sentence == "present: no others")
    }

    @Test func theUserIsNotAmongTheOthers() {
        let own = PresentClient(PresenceState(number: 9, user: UserLabel("me")), isSelf: true)
        #expect(Self.people(own).isEmpty)
    }

    /// No line is wider than the screen, and the mark is visible however long the row is.
    @Test func marksBesideRowsFitAtEveryWidth() {
        let people = Self.people(Self.ann, Self.claimed, Self.hostile)
        for title in ["x", String(repeating: "long ", count: 60), String(repeating: "日本語", count: 60)] {
            for columns in 20...200 {
                for row in [7, 8] {
                    let line = people.beside(ScreenLine(title), ObjectID(Int64(row)), columns: columns)
                    #expect(
                        DisplayWidth.of(line.text) <= columns && line.text.contains(ShownPeople.sign),
                        "\(line.text)"
                    )
                    #expect(!line.text.unicodeScalars.contains { $0 == "\u{1b}" || $0 == "\u{202e}" || $0 == "\n" })
                }
                #expect(people.beside(ScreenLine(title), ObjectID(9), columns: columns) == ScreenLine(title))
            }
        }
        let line = people.beside(ScreenLine("Milk"), ObjectID(7), columns: 80)
        #expect(line.text == "Milk  ◂ Ann, ~Bob")
    }

    @Test func theHeaderSaysHowManyIfNamesDoNotFit() {
        let header = HeaderLine(
            title: "children of 1",
            rows: 0..<20,
            total: 2_003,
            sectionTotal: nil,
            revision: Revision(11),
            status: .live,
            counts: [],
            people: Self.people(Self.ann, Self.claimed)
        )
        #expect(
            [90, 56, 40].map { header.line(columns: $0).text } == [
                "children of 1  rows 1–20 of 2,003  revision 11  live  with Ann, ~Bob",
                "children of 1  1–20 of 2,003  r11  live  with 2",
                "children of…  1/2,003  r11  live  with 2",
            ]
        )
        for columns in 20...200 { #expect(DisplayWidth.of(header.line(columns: columns).text) <= columns) }
    }

    @Test func theEventHasEveryPersonWithItsPlaceOrItsBytes() {
        let other = PresentClient(PresenceState(number: 5, bytes: [0xff]))
        let present = PresentClients(clients: [Self.claimed, other], isLive: true)
        #expect(
            String(decoding: PresencePrinter.event(present, in: ObjectID(1)).bytes, as: UTF8.self)
                == #"{"event":"presence","scope":1,"live":true,"people":[{"number":2,"session":2,"user":"Bob","#
                + #""userClaimed":true,"self":false,"object":7},{"number":5,"session":0,"user":null,"#
                + #""userClaimed":false,"self":false,"bytes":"/w=="}]}"#
        )
    }
}
