-- links.lua - links of the tree's Markdown as links between the report's pages, and tables
-- in boxes that scroll where they are too wide, of whose cells only the long are wrapped.
--
-- A page says where its text comes from (`folder`, below the tree's root) and how to get
-- to the report's (`root`). A link to what is no page becomes plain text. Figures of
-- docs/figures are in the report's folder figures/.

local folder, root

local function page(path)
  if path == 'README.md' then return 'index.html' end
  local step, program = path:match('^steps/([^/]+)/([^/]+)/README%.md$')
  if step then return step .. '/' .. program .. '.html' end
  step = path:match('^steps/([^/]+)/README%.md$') or path:match('^steps/([^/]+)/?$')
  if step then return step .. '/index.html' end
  return path:match('^report/(.+)$')  -- the report's own, as it writes them
end

-- The path below the tree's root of a target that is relative to `folder`.
local function resolved(target)
  local parts = {}
  for part in (folder .. '/' .. target):gmatch('[^/]+') do
    if part == '..' then table.remove(parts)
    elseif part ~= '.' then table.insert(parts, part) end
  end
  return table.concat(parts, '/')
end

local function image(found)
  local name = resolved(found.src):match('^docs/figures/(.+)$')
  if not name then return nil end
  found.src = root .. 'figures/' .. name
  return found
end

local function link(found)
  if found.target:match('^%a+:') or found.target:match('^#') then return nil end
  local target, anchor = found.target:match('^([^#]*)(.*)$')
  local to = page(resolved(target))
  if not to then return found.content end
  found.target = root .. to .. anchor
  return found
end

local function box(found)
  for _, body in ipairs(found.bodies) do
    for _, row in ipairs(body.body) do
      for _, cell in ipairs(row.cells) do
        local long = #pandoc.utils.stringify(cell.contents) > 30
        cell.attr = pandoc.Attr('', {long and 'long' or 'short'})
      end
    end
  end
  return pandoc.Div({found}, {class = 'scroll', tabindex = '0', role = 'region',
                              ['aria-label'] = 'Table'})
end

return {
  {Meta = function(meta)
    folder, root = pandoc.utils.stringify(meta.folder), pandoc.utils.stringify(meta.root)
  end},
  {Link = link, Image = image, Table = box},
}
