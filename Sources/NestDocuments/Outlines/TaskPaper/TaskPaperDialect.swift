/// TaskPaper: `Project:`, `- task`, and texts; tabs are depth, and tags `@name` or `@name(value)` follow the text.
///
/// - `@done` marks an item as done. Its value is the member `done` of `extra`, and other values are members by the
///   names of their tags. Tags without a value are the member `tags`. Attributes of these names get the values instead.
/// - A project has the member `type` with the value `project`. A text that is no note of an item is an item with the
///   `type` `note`.
/// - Tags within the text are text. If those at the end are in an unusual order, `tag order` has their names in that
///   order.
/// - What a tag cannot hold is JSON in the tag `nest-extra`.
struct TaskPaperDialect: ItemDialect {
    private static let done = "done"
    private static let type = "type"
    private static let project = JSONElement.string("project")
    private static let note = JSONElement.string("note")
    static let order = "tag order"
    /// Names with a meaning of their own, which a tag with a value may not have.
    private static let reserved: Set<String> = [ItemMembers.tags, Self.type, Self.order]
    private static let colon = UInt8(ascii: ":")
    private static let bullet = UInt8(ascii: "-")

    let unit = [LineBytes.tab]
    let quotesNotes = false
    let fields: OutlineFields

    func isItem(_ line: [UInt8]) -> Bool { !self.read(line).isText }

    func read(_ line: [UInt8]) -> ItemLine {
        let (word, rest) = LineBytes.word(line[...])
        let isTask = Array(word) == [Self.bullet]
        var item = ItemLine(title: [])
        var text = self.reading(LineBytes.trimmed(isTask ? rest : line[...]), &item)
        if !isTask {
            let isProject = text.last == Self.colon
            if isProject { text = LineBytes.trimmed(text.dropLast()) }
            item.isText = !isProject
            _ = item.members.add(Self.type, isProject ? Self.project : Self.note)
        }
        item.title = Array(text)
        return item
    }

    /// Takes the tags at the end of a text, from the last one to the first that cannot be a member. Returns the text
    /// before them.
    private func reading(_ whole: ArraySlice<UInt8>, _ item: inout ItemLine) -> ArraySlice<UInt8> {
        var text = whole
        var tags: [String] = []
        var names: [String] = []
        while let (tag, rest) = TaskPaperTags.last(text) {
            let isKnown = names.contains(tag.name) || names.count >= ItemMembers.countMax
            guard !isKnown, Self.add(tag, &item, &tags) else { break }
            if tag.name != ItemMembers.rest { names.append(tag.name) }
            text = rest
        }
        names.reverse()
        tags.reverse()
        if !tags.isEmpty, !item.members.add(ItemMembers.tags, .array(tags.map { .string($0) })) {
            item = ItemLine(title: [])
            return whole
        }
        if names != Self.usual(names, tags) {
            _ = item.members.add(Self.order, .string(names.joined(separator: " ")))
        }
        return text
    }

    private static func add(_ tag: TaskPaperTags.Tag, _ item: inout ItemLine, _ tags: inout [String]) -> Bool {
        guard let value = tag.value else {
            guard tag.name != ItemMembers.rest else { return false }
            if tag.name == Self.done { item.done = true } else { tags.append(tag.name) }
            return true
        }
        if tag.name == ItemMembers.rest { return item.members.add(rest: TaskPaperTags.text(of: value)) }
        guard !Self.reserved.contains(tag.name) else { return false }
        if tag.name == Self.done { item.done = true }
        return item.members.add(tag.name, .string(LineBytes.text(TaskPaperTags.text(of: value))))
    }

    /// Tags without a value as they stand, then those with one by their names, then the mark.
    private static func usual(_ names: [String], _ tags: [String]) -> [String] {
        let others = names.filter { $0 != Self.done && !tags.contains($0) }
        return tags + others.sorted() + names.filter { $0 == Self.done }
    }

    func line(_ item: ItemLine) -> [UInt8] {
        let isProject = item.members[Self.type] == Self.project
        var words: [[UInt8]] = []
        if !isProject, !item.isText { words.append([Self.bullet]) }
        let colon = isProject ? [Self.colon] : []
        if !item.title.isEmpty || !colon.isEmpty { words.append(item.title + colon) }
        words += Self.tags(of: item).map { TaskPaperTags.line($0) }
        let line = Array(words.joined(separator: [LineBytes.space]))
        // TaskPaper knows a task by the space.
        return line == [Self.bullet] ? line + [LineBytes.space] : line
    }

    private static func tags(of item: ItemLine) -> [TaskPaperTags.Tag] {
        let members = item.members
        var others: [String] = []
        var tags: [TaskPaperTags.Tag] = []
        if let names = Self.names(members[ItemMembers.tags]), !names.contains(where: { members[$0] != nil }) {
            tags += names.map { TaskPaperTags.Tag(name: $0) }
        } else if members[ItemMembers.tags] != nil {
            others.append(ItemMembers.tags)
        }
        let isUsual = members[Self.type] == Self.project || item.isText
        for name in members.names where name != Self.order && name != ItemMembers.tags && name != Self.done {
            if name == Self.type, isUsual { continue }
            if let text = members.string(name), TaskPaperTags.isName(name), !Self.reserved.contains(name),
                tags.count < ItemMembers.countMax - 2
            {
                tags.append(TaskPaperTags.Tag(name: name, value: TaskPaperTags.value(for: Array(text.utf8))))
            } else {
                others.append(name)
            }
        }
        if item.done {
            if let text = members.string(Self.done) {
                tags.append(TaskPaperTags.Tag(name: Self.done, value: TaskPaperTags.value(for: Array(text.utf8))))
            } else {
                tags.append(TaskPaperTags.Tag(name: Self.done))
                if members[Self.done] != nil { others.append(Self.done) }
            }
        }
        if let order = members.string(Self.order) { tags = Self.sorted(tags, order) }
        guard let rest = members.restText(others) else { return tags }
        let value = TaskPaperTags.value(for: Array(rest.utf8))
        return tags + [TaskPaperTags.Tag(name: ItemMembers.rest, value: value)]
    }

    /// Returns the names of tags without a value, if all of them can be tags.
    private static func names(_ value: JSONElement?) -> [String]? {
        guard case .array(let elements) = value, !elements.isEmpty else { return nil }
        let names = elements.compactMap { if case .string(let name) = $0 { name } else { nil } }
        let isFit = names.allSatisfy { TaskPaperTags.isName($0) && $0 != Self.done && $0 != ItemMembers.rest }
        return names.count == elements.count && Set(names).count == names.count && isFit ? names : nil
    }

    private static func sorted(_ tags: [TaskPaperTags.Tag], _ order: String) -> [TaskPaperTags.Tag] {
        let places = Dictionary(order.split(separator: " ").enumerated().map { (String($1), $0) }) { first, _ in first }
        return tags.enumerated().sorted { a, b in
            (places[a.element.name] ?? .max, a.offset) < (places[b.element.name] ?? .max, b.offset)
        }.map(\.element)
    }

    func item(_ row: OutlineRow, isBelow: Bool, _ losses: inout LossCounts) -> ItemLine {
        var item = ItemLine(title: Array(row.title.utf8), done: row.done, members: ItemMembers(row, &losses))
        if !row.done, item.members[Self.done] != nil {
            item.members.remove(Self.done)
            losses.add("values of done marks left out (the items are not done)")
        }
        item.isText = !isBelow && item.members[Self.type] == Self.note
        self.shortenDates(&item)
        self.tidyOrder(&item)
        return item
    }

    private func shortenDates(_ item: inout ItemLine) {
        for name in item.members.names where self.fields.dates.contains(name) {
            guard let text = item.members.string(name) else { continue }
            item.members.remove(name)
            _ = item.members.add(name, .string(FileDate.short(text)))
        }
    }

    /// Removes an order that says nothing: the tags have changed since it was read.
    private func tidyOrder(_ item: inout ItemLine) {
        guard let order = item.members[Self.order] else { return }
        item.members.remove(Self.order)
        guard case .string(let text) = order else { return }
        var sorted = item
        _ = sorted.members.add(Self.order, .string(text))
        let names = Self.tags(of: sorted).map(\.name).filter { $0 != ItemMembers.rest }
        let tags = Self.names(item.members[ItemMembers.tags]) ?? []
        if names != Self.usual(names, tags) {
            _ = item.members.add(Self.order, .string(names.joined(separator: " ")))
        }
    }

    func count(_ item: ItemLine, isText: Bool, _ losses: inout LossCounts) {
        if !item.done, Self.hasDone(item.title) { losses.add("@done within a text, read as text") }
    }

    /// Whether `@done` is a word of the text.
    private static func hasDone(_ title: [UInt8]) -> Bool {
        title.split(whereSeparator: LineBytes.isBlank).contains { word in
            word.starts(with: Array("@done".utf8)) && (word.count == 5 || word.dropFirst(5).first == UInt8(ascii: "("))
        }
    }

    func apply(_ item: ItemLine, to row: inout OutlineRow, _ losses: inout LossCounts) {
        row.done = item.done
        item.members.apply(to: &row, self.fields, &losses)
    }
}
