import NestModel
import NestTestSupport
import Testing

@testable import nestc

/// Scrolling through a list of which the client holds a part.
@Suite struct ListPositionTests {
    /// A list, cut into sections of random sizes, and the windows that a server would send of it.
    private struct World {
        var sections: [[Int64]]

        init(_ random: inout SeededRandom, count: Int, isSectioned: Bool) {
            var ids = (0..<Int64(count)).map { $0 + 10 }[...]
            self.sections = []
            while !ids.isEmpty {
                let size = isSectioned ? 1 + random.below(6) : ids.count
                self.sections.append(Array(ids.prefix(size)))
                ids = ids.dropFirst(size)
            }
            if self.sections.isEmpty { self.sections = [[]] }
        }

        var ids: [Int64] { self.sections.flatMap { $0 } }

        func state(_ window: FetchWindow) -> SectionedSnapshot? {
            let all = self.ids
            let range: Range<Int>
            var anchor: ObjectID?
            switch window {
            case .range(let offset, let limit):
                range = min(offset, all.count)..<min(offset + limit, all.count)
            case .around(let id, let before, let after):
                guard let index = all.firstIndex(of: id.rawValue) else { return nil }
                range = max(index - before, 0)..<min(index + after + 1, all.count)
                anchor = id
            }
            var start = WindowStart(row: range.lowerBound)
            var shown: [ResultsSection] = []
            var number = 0
            for (index, section) in self.sections.enumerated() {
                let rows = section.enumerated().filter { range.contains(number + $0.offset) }
                if let first = rows.first {
                    if shown.isEmpty {
                        start = WindowStart(row: range.lowerBound, section: index, rowInSection: first.offset)
                    }
                    let held = rows.map { Row(id: ObjectID($0.element), values: []) }
                    shown.append(ResultsSection(key: .integer(Int64(index)), rows: held))
                }
                number += section.count
            }
            let position = WindowPosition(
                total: all.count,
                sectionTotal: self.sections.count,
                start: start,
                anchor: anchor
            )
            return SectionedSnapshot(revision: Revision(1), projection: [], sections: shown, window: position)
        }
    }

    /// A user and a server. Answers may be late.
    private struct Session {
        var world: World
        var position: ListPosition
        var room: Int
        let isSectioned: Bool
        var window: FetchWindow?
        var held: HeldRows

        init(_ world: World, _ start: FetchWindow?, room: Int, isSectioned: Bool) throws {
            let position = ListPosition(start)
            let window = try #require(position.window(nil, total: nil, room: room))
            self.world = world
            self.position = position
            self.room = room
            self.isSectioned = isSectioned
            self.window = window
            self.held = HeldRows(try #require(world.state(window)), isSectioned: isSectioned)
            self.answer()
        }

        /// Answers requests until the position needs no other window.
        mutating func answer() {
            for _ in 0..<10 {
                self.position.settle(self.held, room: self.room)
                guard let wanted = self.position.window(self.window, total: self.held.total, room: self.room),
                    let state = self.world.state(wanted)
                else { return }
                self.window = wanted
                self.held = HeldRows(state, isSectioned: self.isSectioned)
            }
            Issue.record("the position requests windows without end")
        }

        mutating func press(_ key: ScrollKey) {
            self.position.scroll(key, total: self.held.total, room: self.room)
        }

        /// The number of lines of a page, counted anew.
        func lines(_ page: Range<Int>) -> Int {
            guard self.isSectioned, self.room > 1 else { return page.count }
            let sections = self.world.sections.enumerated().flatMap { index, ids in ids.map { _ in index } }
            return page.count + Set(sections[page]).count
        }
    }

    /// After any keys, the screen is full of rows as far as the list has any, and each key does what it says.
    @Test(arguments: [false, true]) func keysScrollThroughTheWholeList(_ isSectioned: Bool) throws {
        for seed in 0..<300 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let count = random.below(200)
            let world = World(&random, count: count, isSectioned: isSectioned)
            let start = FetchWindow.range(offset: random.below(250), limit: 5)
            var session = try Session(world, start, room: 1 + random.below(20), isSectioned: isSectioned)
            for _ in 0..<30 {
                let before = session.position.page
                let key = ScrollKey.allCases.randomElement(using: &random)!
                session.press(key)
                session.answer()
                let page = session.position.page
                #expect(session.position.isSettled, "seed \(seed)")
                #expect(
                    page.lowerBound >= 0 && page.upperBound <= count && page.isEmpty == (count == 0),
                    "seed \(seed)"
                )
                #expect(session.lines(page) <= session.room || page.count == 1, "seed \(seed)")
                if page.upperBound < count {
                    #expect(session.lines(page.lowerBound..<page.upperBound + 1) > session.room, "seed \(seed)")
                } else if page.lowerBound > 0 {
                    #expect(session.lines(page.lowerBound - 1..<count) > session.room, "seed \(seed)")
                }
                switch key {
                case .home: #expect(page.lowerBound == 0, "seed \(seed)")
                case .end: #expect(page.upperBound == count, "seed \(seed)")
                case .up: #expect(page.lowerBound == max(before.lowerBound - 1, 0), "seed \(seed)")
                case .down:
                    #expect(page.lowerBound == before.lowerBound + 1 || page.upperBound == count, "seed \(seed)")
                case .pageDown:
                    #expect(page.lowerBound == before.upperBound || page.upperBound == count, "seed \(seed)")
                case .pageUp:
                    // The first row shown before, at most, is shown again, in a line that is left.
                    let isNext = [0, 1].contains(page.upperBound - before.lowerBound)
                    #expect(isNext || page.lowerBound == 0, "seed \(seed)")
                }
                // A page ahead is held, so that the next key needs no answer.
                let ahead = max(page.lowerBound - session.room, 0)..<min(page.upperBound + session.room, count)
                #expect(session.held.range.clamped(to: ahead) == ahead, "seed \(seed)")
            }
        }
    }

    /// Keys that come before the answers add up.
    @Test func fastKeysAreNotLost() throws {
        var random = SeededRandom(seed: 1)
        let world = World(&random, count: 10_000, isSectioned: false)
        var session = try Session(world, nil, room: 20, isSectioned: false)
        for _ in 0..<100 { session.press(.pageDown) }
        session.answer()
        #expect(session.position.page == 2_000..<2_020)
        session.press(.end)
        for _ in 0..<10 { session.press(.pageUp) }
        session.answer()
        #expect(session.position.page == 9_780..<9_800)
    }

    @Test func aFollowedRowStaysOnItsLine() throws {
        var random = SeededRandom(seed: 1)
        let world = World(&random, count: 1_000, isSectioned: false)
        let id = ObjectID(510)
        var session = try Session(world, .around(id, before: 4, after: 9), room: 10, isSectioned: false)
        #expect(session.position.page == 496..<506 && session.position.followed == id)
        // Another client moves it.
        session.world.sections[0].removeAll { $0 == id.rawValue }
        session.world.sections[0].insert(id.rawValue, at: 100)
        let window = try #require(session.window)
        session.held = HeldRows(try #require(session.world.state(window)), isSectioned: false)
        session.answer()
        #expect(session.position.page == 96..<106 && session.position.followed == id)
        session.press(.down)
        session.answer()
        #expect(session.position.page == 97..<107 && session.position.followed == id)
        // Home shows the beginning of the list, not that of a window.
        session.press(.home)
        session.answer()
        #expect(session.position.page == 0..<10 && session.position.followed == nil)
    }

    /// The user asks for more rows before the followed one than the screen has.
    @Test func aFollowedRowIsOnTheScreenWhateverIsAskedAroundIt() throws {
        var random = SeededRandom(seed: 1)
        let world = World(&random, count: 1_000, isSectioned: false)
        let start = FetchWindow.around(ObjectID(510), before: 5_000, after: 0)
        let session = try Session(world, start, room: 10, isSectioned: false)
        #expect(session.position.page == 495..<505 && session.position.isSettled)
    }

    @Test func aResizedScreenStaysFull() throws {
        var random = SeededRandom(seed: 1)
        let world = World(&random, count: 100, isSectioned: false)
        var session = try Session(world, nil, room: 5, isSectioned: false)
        session.press(.end)
        session.answer()
        for room in [50, 200, 1, 7] {
            session.room = room
            session.answer()
            #expect(session.position.page.count == min(room, 100) && session.position.isSettled)
        }
    }
}
