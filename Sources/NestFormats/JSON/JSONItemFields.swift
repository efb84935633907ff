extension JSONWriter {
    /// The members that say what an item is: `note` and `extra` only when there are, `done` only when it is.
    mutating func item(_ row: OutlineRow) {
        self.field("title", row.title)
        if let note = row.note { self.field("note", note) }
        if row.done { self.field("done", true) }
        guard let extra = row.extra else { return }
        self.key("extra")
        // As the object that it is, if that is read back as the same text.
        if let object = OutlineExtra(extra), object.text == extra {
            self.element(.object(object.members))
        } else {
            self.string(extra)
        }
    }
}
