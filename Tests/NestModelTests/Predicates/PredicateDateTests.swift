import NestModel
import NestTestSupport
import Testing

/// Dates in predicates: their forms, and times without a zone.
@Suite struct PredicateDateTests {
    private static let model = PredicateParserTests.model
    private static let user = PredicateParserTests.user
    /// 2026-03-29 12:00 UTC.
    private static let noon: Int64 = 1_774_785_600

    /// A zone whose difference to UTC changes at moments, ascending.
    private static func zone(
        _ first: Int64,
        _ changes: [(moment: Int64, offset: Int64)],
        now: Int64 = Self.noon
    ) -> DateReading {
        DateReading(now: now * 1_000_000) { moment in changes.last { $0.moment <= moment }?.offset ?? first }
    }

    /// Central European time around 29 March and 25 October 2026.
    private static let berlin = Self.zone(3_600, [(1_774_746_000, 7_200), (1_792_890_000, 3_600)])

    private func text(_ text: String, _ dates: DateReading) throws -> String {
        try FetchPredicate(text, of: Self.user, in: Self.model, dates: dates).text(of: Self.user, in: Self.model)
    }

    private func read(_ date: String, _ dates: DateReading) throws -> String {
        let text = try self.text("born == \(date)", dates)
        return text.replacing("born == date(\"", with: "").replacing(".000000Z\")", with: "Z")
    }

    /// The canonical text is in UTC, and is read as the same date in every zone.
    @Test(arguments: [
        ("2026-02-01", "2026-02-01T00:00:00Z", "2026-01-31T23:00:00Z"),
        ("2026-07-01", "2026-07-01T00:00:00Z", "2026-06-30T22:00:00Z"),
        ("2026-02-01T14:30", "2026-02-01T14:30:00Z", "2026-02-01T13:30:00Z"),
        ("2026-02-01 14:30", "2026-02-01T14:30:00Z", "2026-02-01T13:30:00Z"),
        ("2026-02-01t14:30:15", "2026-02-01T14:30:15Z", "2026-02-01T13:30:15Z"),
        ("2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z"),
        ("2026-02-01 14:30z", "2026-02-01T14:30:00Z", "2026-02-01T14:30:00Z"),
        ("2026-02-01T14:30+02:00", "2026-02-01T12:30:00Z", "2026-02-01T12:30:00Z"),
        ("2026-02-01T14:30-0130", "2026-02-01T16:00:00Z", "2026-02-01T16:00:00Z"),
        ("2026-02-01 14:30+02", "2026-02-01T12:30:00Z", "2026-02-01T12:30:00Z"),
    ])
    func datesAreReadInTheirZone(_ date: String, _ utc: String, _ berlin: String) throws {
        for form in [date, "\"\(date)\"", "'\(date)'", "date(\"\(date)\")"] {
            #expect(try self.read(form, .utc) == utc)
            #expect(try self.read(form, Self.berlin) == berlin)
            let canonical = try self.text("born == \(form)", Self.berlin)
            #expect(try self.text(canonical, .utc) == canonical)
            // On the left, and in a list.
            #expect(try self.text("\(form) == born", Self.berlin) == canonical || form != date)
            #expect(try self.text("born IN {\(form)}", Self.berlin) == canonical)
        }
    }

    @Test func wordsForMomentsAreFixedWhenTheTextIsRead() throws {
        for now in ["now", "NOW()", "\"now\"", "date('now')"] {
            #expect(try self.read(now, Self.berlin) == "2026-03-29T12:00:00Z")
        }
        // The day has 23 hours.
        #expect(try self.read("today", Self.berlin) == "2026-03-28T23:00:00Z")
        #expect(try self.read("tomorrow", Self.berlin) == "2026-03-29T22:00:00Z")
        #expect(try self.read("yesterday()", Self.berlin) == "2026-03-27T23:00:00Z")
        #expect(try self.read("today", .utc).hasSuffix("T00:00:00Z"))
        #expect(try self.text("today <= born AND born < tomorrow", Self.berlin).contains("2026-03-29T22:00:00"))
        // In Kiritimati it is already the next day.
        #expect(try self.read("today", Self.zone(50_400, [])) == "2026-03-29T10:00:00Z")
    }

    /// A property named like a word is the property on the left, and the word is the moment on the right.
    @Test func wordsForMomentsDoNotHideProperties() throws {
        var entity = EntityDraft(name: "Note")
        entity.attributes = [.named("today", .date), .named("now", .date)]
        let model = try ModelDraft(entities: [entity]).compile()
        let note = try #require(model.entity(named: "Note"))
        let text = try FetchPredicate("today >= now AND now < today()", of: note, in: model, dates: Self.berlin)
            .text(of: note, in: model)
        #expect(text.contains("today >= date(\"2026-03-29T12:00"))
        #expect(text.contains("now < date(\"2026-03-28T23:00"))
    }

    @Test(arguments: [
        ("born >= 2026-13-01", 14, "there is no month 13"),
        ("born >= 2026-00-01", 14, "there is no month 0"),
        ("born >= 2026-02-30", 17, "there is no day 30 in 2026-02: it has 28 days"),
        ("born >= '2026-02-30'", 18, "there is no day 30 in 2026-02: it has 28 days"),
        ("born >= date(\"2026-02-30\")", 23, "there is no day 30 in 2026-02: it has 28 days"),
        ("born >= 2026-02-01T24:00", 20, "there is no hour 24: the last is 23"),
        ("born >= 2026-02-01 14:60", 23, "there is no minute 60: the last is 59"),
        ("born >= 2026-02-01 14:30:61", 26, "there is no second 61: the last is 59"),
        ("born >= 2026-02-01 4:30", 20, "the hour has two digits, like 09"),
        ("born >= 2026-02-01T14:30+2", 25, "after the time write nothing, Z for UTC, or the difference to UTC"),
        ("born >= 2026-2-1", 15, "write a date as 2026-02-01, 2026-02-01 14:30 or 2026-02-01T14:30:00+01:00"),
        ("born >= 2026-02", 16, "write a date as 2026-02-01, 2026-02-01 14:30 or 2026-02-01T14:30:00+01:00"),
        ("born >= \"soon\"", 10, "'soon' is not a date: write a date as 2026-02-01"),
        ("born >= 2026/02/01", 13, "a date is written 2026-02-01"),
        ("born >= 5", 9, "born is date, it cannot be compared with 5: write a date as 2026-02-01"),
        ("born >= today - 7", 15, "there is no arithmetic"),
        ("age == 2026-02-01", 8, "age is integer, it cannot be compared with a date: write a number"),
        ("name == today", 9, "put texts in quotation marks"),
    ])
    func faultsOfDatesSayWhatIsWrong(_ text: String, _ column: Int, _ message: String) {
        let error = #expect(throws: PredicateSyntaxError.self) { try self.text(text, Self.berlin) }
        #expect(error?.column == column, "\(error!)")
        #expect(error?.message.contains(message) ?? false, "\(error!)")
    }

    @Test(arguments: [
        ("", "2026-02-01T00:00:00Z"), ("UTC", "2026-02-01T00:00:00Z"), ("Europe/Berlin", "2026-01-31T23:00:00Z"),
        ("Asia/Calcutta", "2026-01-31T18:30:00Z"), ("America/Port-au-Prince", "2026-02-01T05:00:00Z"),
        ("Etc/GMT+5", "2026-02-01T05:00:00Z"), ("America/Argentina/Buenos_Aires", "2026-02-01T03:00:00Z"),
    ])
    func zonesHaveTheirNamesInTheDatabase(_ zone: String, _ utc: String) throws {
        let dates = try #require(DateReading(zone: zone, now: Self.noon * 1_000_000))
        #expect(try self.read("2026-02-01", dates) == utc)
        #expect(dates.now == Self.noon * 1_000_000)
    }

    @Test func namesThatAreNoZonesAreRefused() {
        let names = [
            "Mars/Phobos", "europe/berlin", "Europe/Berlin\n", " UTC", "GMT+5", "UTC-3", "+01:00", "../etc/passwd",
            "/etc/localtime", "Europe/", "\u{e9}", String(repeating: "A", count: 65),
            String(repeating: "A/", count: 32),
        ]
        for name in names { #expect(DateReading(zone: name, now: 0) == nil, "\(name)") }
    }

    /// Clocks that jump forward omit a time, and clocks that are set back show it twice. The oracle tries every quarter
    /// of an hour.
    @Test func localTimesAreTheFirstMomentThatShowsThem() throws {
        var random = SeededRandom(seed: 31)
        for round in 0..<400 {
            let quarter: Int64 = 900
            let start = Self.noon / quarter * quarter
            // Up to a whole day is omitted, as in Samoa in 2011.
            let before = (Int64(random.below(104)) - 52) * quarter
            let after = random.oneIn(4) ? before + 86_400 : (Int64(random.below(104)) - 52) * quarter
            let dates = Self.zone(before, [(start, after)])
            let local = start + before + (Int64(random.below(64)) - 32) * quarter
            func clock(_ moment: Int64) -> Int64 { moment + dates.secondsFromUTC(moment) }
            let moments = stride(from: local - 200_000 / quarter * quarter, to: local + 200_000, by: Int(quarter))
            let expected = try #require(moments.first { clock($0) >= local })
            let text = DateText.text(microseconds: local * 1_000_000).replacing("Z", with: "")
            let found = try DateText.microseconds(text, dates)
            #expect(found == expected * 1_000_000, "round \(round) of seed 31: \(before) to \(after), \(local - start)")
        }
    }
}
