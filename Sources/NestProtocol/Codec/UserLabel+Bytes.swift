import NestModel

extension ByteWriter {
    /// Writes a label and whether it is a claim. No label is an empty one.
    package mutating func write(user: UserLabel?) {
        self.write(string: user?.text ?? "")
        self.write(byte: user?.isClaimed == true ? 1 : 0)
    }

    /// Writes the users of a list's elements, in their order, at the end of a body; nothing if there is no user.
    package mutating func write(users: [UserLabel?]) {
        guard users.contains(where: { $0 != nil }) else { return }
        self.write(count: users.count)
        for user in users { self.write(user: user) }
    }

    /// Writes an expiry; 0 means never. A time that the wire cannot hold becomes the nearest one that it can.
    package mutating func write(expiry: Int64?) {
        self.write(varint: expiry.map { UInt64(min(max($0, 1), Int64(1) << 62 - 1)) } ?? 0)
    }
}

extension ByteReader {
    package mutating func user() throws(DecodingFailure) -> UserLabel? {
        let text = try self.string("user", max: Limits.nameBytesMax)
        return UserLabel(text, isClaimed: try self.byte("user flags") & 1 != 0)
    }

    /// Reads the users of `count` elements. Returns none if the body ends before them.
    package mutating func users(count: Int) throws(DecodingFailure) -> [UserLabel?] {
        guard !self.isAtEnd else { return Array(repeating: nil, count: count) }
        guard try self.count("users", max: count, bytesEach: 2) == count else {
            throw DecodingFailure(.invalidValue, "users")
        }
        var users: [UserLabel?] = []
        for _ in 0..<count { users.append(try self.user()) }
        return users
    }

    /// Reads an expiry; `nil`: never.
    package mutating func expiry() throws(DecodingFailure) -> Int64? {
        let expiry = try self.varint("expiry")
        // A varint is below 2^62.
        return expiry == 0 ? nil : Int64(expiry)
    }
}
