// The content of a page, and its checksum: a damaged page shows no wrong number.

/** What one byte does to a CRC-32. */
const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  return crc;
});

/** The CRC-32 of a text in UTF-8, as zlib computes it. */
function crc32(text) {
  let crc = -1;
  for (const byte of new TextEncoder().encode(text)) {
    crc = CRC_TABLE[(crc ^ byte) & 255] ^ (crc >>> 8);
  }
  return (crc ^ -1) >>> 0;
}

class DamagedContent extends Error {}

/** The content as it was written; a changed one is an error. */
function checkedContent() {
  const { textContent } = document.getElementById("content");
  if (crc32(textContent) !== Number(document.documentElement.dataset.checksum)) {
    throw new DamagedContent("its content is damaged, so it shows nothing: restore it, or make it again");
  }
  return JSON.parse(textContent);
}
